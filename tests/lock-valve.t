#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lock: what is pinned is given back while memory is tight, and pinned again when it is not
# shellcheck disable=SC2119 # stop without a signal
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/tight.sh
. "$(dirname "$0")/tight.sh"
# shellcheck source=tests/lock.sh
. "$(dirname "$0")/lock.sh"
need_root
need unshare

# available KIB [LOCKED]: of a machine that is to have a sixteenth of its GiB, 64 MiB
available() {
	memory "$1" "$1" "${2:-102400}"
}

# made_up_now COMMAND...: as made_up, for run
# shellcheck disable=SC2317 # run calls it
made_up_now() {
	(made_up "$@")
}

# locked: bytes that lock has locked
locked() {
	awk '/^VmLck/ { print $2 * 1024 }' "/proc/$pid/status"
}

# becomes NAME WANTED SECONDS: what is locked, before so long
becomes() {
	becomes_tries=$(($3 * 20))
	while [ "$(locked)" != "$2" ] && [ $becomes_tries -gt 0 ]; do
		sleep 0.05
		becomes_tries=$((becomes_tries - 1))
	done
	is "$1" "$(locked)" "$2"
}

stalls
available 800000
(made_up true) 2>/dev/null || skip_all "needs /proc/pressure"
around=made_up
MiB=1048576
pages_of() { echo $(($1 * MiB / page)); }
file first "$(pages_of 4)"
mkdir tree
file tree/a "$(pages_of 6)"
file last "$(pages_of 2)"

### Little is available

start --max 100M --quiet-time=2s first tree last
is "all is pinned" "$(locked)" $((12 * MiB))
sleep 1
is "and stays so" "$(locked):$err" "$((12 * MiB)):"
available $((64 * 1024 - 512)) # half a MiB too little
becomes "a step is given back: the last file goes first" $((11 * MiB)) 1
available $((65 * 1024))
sleep 1
is "no more, as soon as that is enough" "$(locked)" $((11 * MiB))
is "the others are held as a whole, and that one in part" \
	"$(left first) $(left tree/a) $(left last)" \
	"$(pages_of 4)/$(pages_of 4) $(pages_of 6)/$(pages_of 6) $(pages_of 1)/$(pages_of 2)"
sleep 2
is "twice as much is to be available for it to be pinned again" "$(locked)" $((11 * MiB))
available 800000
becomes "which it is then" $((12 * MiB)) 2
available 0
becomes "nothing is available: all is given back" 0 1
available 800000
sleep 1
is "not pinned again at once" "$(locked)" 0
head -c $((3 * MiB)) /dev/urandom >new
mv new first
sleep 0.5
is "also what is new" "$(locked)" 0
becomes "but after a quiet time, longer than the last" $((11 * MiB)) 8
is "all of it" "$(left first) $(left tree/a) $(left last)" \
	"$(pages_of 3)/$(pages_of 3) $(pages_of 6)/$(pages_of 6) $(pages_of 2)/$(pages_of 2)"
stop
is "each row tells what became of it" \
	"$(value released_bytes 4) $(value repinned_bytes 4)
$(value released_bytes 5) $(value repinned_bytes 5)
$(value released_bytes 6) $(value repinned_bytes 6)" \
	"$((7 * MiB)) $((3 * MiB))
$((12 * MiB)) $((6 * MiB))
$((5 * MiB)) $((3 * MiB))"
like "each release is said, with its reason" "$err" \
	"lock: released: 1.0M (1048576 bytes) of last: memory is tight: 64M available, less than 64M*"
like "and each time it is pinned again" "$err" "*lock: pinned again: 1.0M (1048576 bytes) of last*"

### What is new while it is tight

rm -rf tree
mkdir tree prepared
file tree/a "$(pages_of 6)"
file prepared/b "$(pages_of 3)"
start --max 100M --quiet-time=2s tree
available 0
becomes "nothing is available" 0 1
mv prepared tree/
file tree/c "$(pages_of 2)"
sleep 1
is "a folder that comes is not pinned, nor is a file" "$(locked)" 0
available 800000
becomes "until there is room" $((11 * MiB)) 8
# as Linux 5.18 to 6.6 count large folios that are mapped page by page
available 70000 1
becomes "what is pinned, and counts as if it could go, is not available" 0 2
stop
available 0
run made_up_now "$lock" -t 5 -f kv --max 100M tree
like "where nothing is available from the start, it is refused" "$status:$(row):$err" \
	"2:3 $((11 * MiB))     refused:lock: refused: *no more than 0B*can be pinned without being given back at once*"
available 800000
rm -rf tree
mkdir tree
file tree/a "$(pages_of 6)"

### Tasks wait

file first "$(pages_of 4)"
cat first tree/a last >/dev/null # in memory, since hardly anything is free
printf 'MemTotal: 1048576 kB\nMemFree:     60000 kB\nMemAvailable:    800000 kB\nInactive(file): 0 kB\nMlocked:    102400 kB\n' |
	dd of="$TMP/meminfo" conv=notrunc status=none
start --max 100M --quiet-time=2s first tree last
tighten
sleep 1.6
some=$(locked)
ok "while tasks wait, something is given back" [ "$some" -lt $((12 * MiB)) ]
ok "not all at once" [ "$some" -gt $((6 * MiB)) ]
sleep 1.2
ok "more, as they go on waiting" [ "$(locked)" -lt "$some" ]
relax
sleep 1
some=$(locked)
sleep 0.5
is "no more when they do not" "$(locked)" "$some"
becomes "and all is pinned again after the quiet time" $((12 * MiB)) 4
stop
like "the reason is said" "$err" "lock: released: *: memory is tight: tasks waited for it *% of the time*"

### In earnest: what grows beside it in a memory cgroup lives

around=
if has_cgroup && command -v perl >/dev/null; then
	group=/sys/fs/cgroup/memory/hotset-valve.$$
	mkdir "$group"
	on_exit "rmdir $group 2>/dev/null"
	echo 128M >"$group/memory.limit_in_bytes"
	# shellcheck disable=SC2317,SC2016 # start calls it; the inner shell's
	inside() { exec sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@"; }
	file big "$(pages_of 60)"
	around=inside
	start --max 60% --quiet-time=3s big
	is "60 MiB of 128 are pinned" "$(locked)" $((60 * MiB))
	# shellcheck disable=SC2016 # perl's
	(inside perl -e 'for (1 .. 50) {
		push @held, chr(65 + $_ % 20) x (2 << 20);
		select(undef, undef, undef, 0.1);
	}')
	is "100 MiB beside it, 20 a second: nobody is killed" \
		"$?:$(sed -n 's/^oom_kill //p' "$group/memory.oom_control")" 0:0
	ok "since some was given back" [ "$(locked)" -lt $((50 * MiB)) ]
	becomes "which is pinned again, once that has ended" $((60 * MiB)) 10
	stop
	like "both is said" "$err" "lock: released: *: memory is tight: *available in memory cgroup $group, less than 8.0M*lock: pinned again: *"
else
	skip "in earnest" "needs a writable version 1 hierarchy, and perl"
fi

done_testing
