#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lock: where a limit of processes, or of what the kernel tells, is run into, that is said, and what
# is pinned stays true
# shellcheck disable=SC2119,SC2317 # row and stop have arguments of their own; in_time runs some
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lock.sh
. "$(dirname "$0")/lock.sh"
need_root
need unshare prlimit pgrep perl

# limited COMMAND...: as if a process might have $maps mappings; it may have $files descriptors
limited() {
	# shellcheck disable=SC2016 # the inner shell's
	exec prlimit --nofile="$files:$files" unshare -m sh -c 'echo "$1" >"$2" &&
		mount --bind "$2" /proc/sys/vm/max_map_count && shift 2 && exec "$@"' sh "$maps" "$TMP/maps" "$@"
}
maps=65530 files=1024
(limited true) 2>/dev/null || skip_all "needs mount namespaces"

# in_time COMMAND...: it succeeds at last: what could not be pinned is tried again after pauses
# that double, 1, 3, 7, 15 and 31 seconds after the first time
in_time() {
	tries=350
	while ! "$@" && [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	"$@"
}

# pages_locked: by lock and its workers
pages_locked() {
	# shellcheck disable=SC2046 # words
	cat "/proc/$pid/status" $(pgrep -P "$pid" | sed 's|.*|/proc/&/status|') 2>/dev/null |
		awk -v page="$page" '/^VmLck/ { sum += $2 * 1024 } END { print sum / page }'
}

# locks PAGES: lock does
locks() {
	[ "$(pages_locked)" = "$1" ]
}

# survivors MOST: writes the names of the files that an eviction leaves; sets $pinned, how many.
# Where that is more, lock has just read one of those that wait, to try it again: once more then.
survivors() {
	for _ in 1 2 3 4 5; do
		for name in many/*; do
			[ "$(left "$name")" = 0/1 ] || echo "$name"
		done >"$TMP/survivors"
		pinned=$(wc -l <"$TMP/survivors")
		[ "$pinned" -gt "$1" ] || break
	done
}

### More files than all processes together can pin

# fill: makes the 800 files that are not there
fill() {
	mkdir -p many
	i=0
	while [ $i -lt 800 ]; do
		[ -e many/$i ] || echo $i >many/$i
		i=$((i + 1))
	done
}

# check_most WHAT PROCESSES FILES: of the 800 files, all processes pin so many, and the rest is not
# lost silently
check_most() {
	most=$(($2 * $3))
	fill
	start --pidfile="$TMP/pid" many
	is "$1: as many as can be are pinned" "$(row)" \
		"800 $((800 * page)) $((most * page)) 0 0 0 partial"
	is "$1: by as many processes as there may be" "$(pgrep -P "$pid" | wc -l)" $(($2 - 1))
	is "$1: which lock them" "$(pages_locked)" $most
	survivors $most
	is "$1: an eviction takes the others, and none of these" "$pinned" $most
	like "$1: one of the others is named, with the cause" "$err" \
		"lock: many/*: not pinned, nor are others: too many files for the processes *"
	is "$1: that is said once" "$(echo "$err" | wc -l)" 1
	named=$(echo "$err" | sed 's/^lock: //; s/:.*//')
	is "$1: it is one of the others" "$(grep -cx "$named" "$TMP/survivors")" 0

	victim=$(pgrep -P "$pid" | head -n 1)
	kill -KILL "$victim"
	in_time [ ! -e "/proc/$victim/status" ]
	ok "$1: a process is killed: another one is there, and as many are pinned again" \
		in_time locks $most
	is "$1: no more processes than before" "$(pgrep -P "$pid" | wc -l)" $(($2 - 1))
	survivors $most
	is "$1: none that an eviction takes counts" \
		"$("$lock" --status="$TMP/pid" -f kv | grep -e ^pinned -e ^state)" \
		"pinned_bytes=$((pinned * page))
state=partial"

	head -n 100 "$TMP/survivors" | xargs rm
	ok "$1: some are gone: the others have room" in_time locks 700
	survivors $most
	is "$1: all are pinned, and it is said" \
		"$pinned:$("$lock" --status="$TMP/pid" -f kv | grep -e ^files -e ^pinned -e ^state)" \
		"700:files=700
pinned_bytes=$((700 * page))
state=pinned"
	stop
}

# foreseen NAME "STATUS:TEXT": what a dry run of the 800 files has to say beside its figures
foreseen() {
	# shellcheck disable=SC2016 # the inner shell's
	run eval '(limited "$lock" -v --dry-run -f kv many)'
	is "$1" "$status:$(echo "$err" | sed -n 's/^lock: \(.*files.*\)/\1/p')" "$2"
}
fill
as_many="which are as many as there may be (65, or fewer with few descriptors: ulimit -n)"
maps=20 files=1024
foreseen "a dry run tells of too many files for 65 processes" \
	"1:only 715 of 800 files can be pinned: 11 a process (vm.max_map_count), by 65 processes, $as_many"
maps=130 files=40
foreseen "and of too few descriptors for more processes" \
	"1:only 726 of 800 files can be pinned: 66 a process (vm.max_map_count), by 11 processes, $as_many"
maps=600 files=1024
foreseen "or how many processes there will be" \
	"0:800 files, and one process can pin 301 (vm.max_map_count): 4 processes share them"
around=limited
start many
is "and so many there are" "$(row):$(pgrep -P "$pid" | wc -l)" \
	"800 $((800 * page)) $((800 * page)) 0 0 0 pinned:3"
stop
around=

maps=130 files=40 # 66 files a process, and a quarter of the descriptors: ten workers
around=limited
check_most "few descriptors" 11 66
maps=20 files=1024 # 11 files a process
check_most "64 workers" 65 11
fill
# shellcheck disable=SC2016 # the inner shell's
run eval '(limited "$lock" --for=0.1 -f kv many)'
is "that is done in part" "$status:$(value state)" 1:partial
around=

### What the caller has open

# with_high COMMAND...: with a pipe as descriptor 5000
with_high() {
	# shellcheck disable=SC2016 # perl's
	limited perl -e 'use POSIX; pipe my $from, my $to;
		$^F = 5000; POSIX::dup2(fileno $to, 5000); exec @ARGV' "$@"
}
# descriptors: of the workers, by what they lead to, each once
descriptors() {
	for worker in $(pgrep -P "$pid"); do
		readlink "/proc/$worker/fd"/*
	done | sed 's/[0-9]*[]]$//' | sort | uniq -c | sed 's/^ *//'
}
if perl -e 'exit(syscall(436, 9000, 9000, 0) != 0)'; then # close_range, of Linux 5.9
	maps=130 files=8192 around=with_high
	start many
	ok "lock has a descriptor of its caller's, with a high number" [ -p "/proc/$pid/fd/5000" ]
	workers=$(pgrep -P "$pid" | wc -l)
	is "no worker has any but its own" "$(descriptors)" "$((3 * workers)) /dev/null
$workers socket:["
	stop
	around=
else
	skip "what the caller has open" "the kernel has no close_range"
fi

### A folder that is made again

# made_again: removes the folder tree, and makes it again, before lock can look; whether it has the
# same number then
made_again() {
	kill -STOP "$pid"
	# a shell is slower, and others might take the number meanwhile
	perl -e 'my $before = (stat "tree")[1]; unlink glob "tree/*"; rmdir "tree"; mkdir "tree";
		exit((stat "tree")[1] != $before)'
	made=$?
	kill -CONT "$pid"
	return $made
}
mkdir tree
start tree
tries=10
until made_again || [ $tries -eq 0 ]; do
	tries=$((tries - 1))
	sleep 0.3
done
if [ $tries -gt 0 ]; then
	sleep 1
	file tree/new 3
	sleep 1
	is "a folder is made again, and has the number of the old one: it is watched" \
		"$(left tree/new)" 3/3
else
	skip "a folder is made again" "the file system gives it another number"
fi
stop

done_testing
