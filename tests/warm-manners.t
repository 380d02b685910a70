#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm: what it leaves to others: rate, I/O priority, memory of a cgroup; and a run that reads nothing
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
# shellcheck source=tests/tight.sh
. "$(dirname "$0")/tight.sh"
cp "$BUILD/warm" "$TMP" # where any user finds it
warm=$TMP/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# resident NAME: its pages in memory
resident() {
	"$pages" "$1" | cut -d / -f 1
}

# figures: size already missing read resident skipped, and the exit status
figures() {
	echo "$(value size_bytes) $(value already_bytes) $(value missing_bytes) $(value read_bytes)" \
		"$(value resident_bytes) $(value skipped_bytes) $status"
}

# started COMMAND...: as run, but goes on meanwhile; sets $pid
started() {
	"$@" >"$TMP/.out" 2>"$TMP/.err" &
	pid=$!
}

# ended: waits for it, and sets $status, $out and $err
ended() {
	status=0
	wait "$pid" || status=$?
	out=$(cat "$TMP/.out")
	err=$(cat "$TMP/.err")
}

MiB=1048576
head -c $((16 * MiB)) /dev/urandom >large
for name in a b c d; do head -c $((4 * MiB)) /dev/urandom >$name; done
sync large a b c d

### --rate

cold large
run "$warm" -f kv --rate=8M large
is "all comes in" "$(value missing_bytes) $(value resident_bytes) $status" "$((16 * MiB)) $((16 * MiB)) 0"
ok "and is read" [ "$(value read_bytes)" -ge $((16 * MiB)) ] # again, where it goes meanwhile
took=$(value seconds | tr -d .)
ok "16 MiB at 8 MiB/s take 1.75 s at least" [ "$took" -ge 1750 ] || note "$took ms"
ok "and not half as long again, but for a slow disk" [ "$took" -lt 6000 ] || note "$took ms"
ok "the rate told is no higher" [ "$(value bytes_per_s)" -le $((8 * MiB)) ]

# watch PID NAME...: a line "MILLISECONDS PAGES" now and then, while the process lives
watch() {
	watch_pid=$1
	shift
	while kill -0 "$watch_pid" 2>/dev/null; do
		watch_sum=0
		watch_before=$(milliseconds)
		for watch_name; do watch_sum=$((watch_sum + $(resident "$watch_name"))); done
		# when it was looked is not known better than that
		echo "$watch_before $(milliseconds) $watch_sum"
		sleep 0.05
	done
}

# most SECONDS: of what watch wrote, the most pages that came in within less than so long
most() {
	awk -v span="$1" '
	{ from[NR] = $1; to[NR] = $2; pages[NR] = $3 }
	END {
		for (i = 1; i <= NR; i++)
			for (j = i + 1; j <= NR && to[j] - from[i] <= span * 1000; j++)
				if (pages[j] - pages[i] > most)
					most = pages[j] - pages[i]
		print most + 0
	}' "$TMP/watch"
}

cold large
started "$warm" -f kv --rate=8M large
watch "$pid" large >"$TMP/watch"
ended
second=$((8 * MiB / page))
ok "no second has more than the rate, and a piece of it" [ "$(most 1)" -le $((second + second / 16)) ] ||
	note "$(most 1) pages, of $second"
ok "nor does it come in bursts: half a second has half of it" \
	[ "$(most 0.5)" -le $((second / 2 + second / 16)) ] || note "$(most 0.5) pages"
ok "it has been watched" [ "$(wc -l <"$TMP/watch")" -ge 8 ]

cold a b c d
started "$warm" -j 4 --rate=8M a b c d
watch "$pid" a b c d >"$TMP/watch"
ended
ok "the rate is that of all workers" [ "$(most 1)" -le $((second + second / 16)) ] ||
	note "$(most 1) pages, of $second"
is "all of it comes" "$(resident a) $(resident d) $status" "1024 1024 0"

cold large
before=$(milliseconds)
started "$warm" -f kv --rate=1M large
sleep 1
kill -INT "$pid"
ended
is "SIGINT ends it" "$status" 130
ok "at once" [ $(($(milliseconds) - before)) -lt 3000 ]
ok "what is told is what is there" [ "$(value resident_bytes)" -eq $(($(resident large) * page)) ]
ok "which is part of it" [ "$(value resident_bytes)" -gt 0 ]
ok "and not much more than the rate gives" [ "$(value read_bytes)" -lt $((4 * MiB)) ]
ok "and was read" [ "$(value read_bytes)" -ge "$(value resident_bytes)" ]
cold large
before=$(milliseconds)
run "$warm" -f kv --rate=64k -t 1 large
is "the time limit ends it" "$status" 1
ok "at once" [ $(($(milliseconds) - before)) -lt 3000 ]
run "$warm" --rate=4T -f kv large
is "a rate beyond all disks" "$(value resident_bytes) $status" "$((16 * MiB)) 0"
for rate in 0 1 16383 -1 8Mx ''; do
	run "$warm" --rate="$rate" large
	is "no rate: \"$rate\"" "$status" 3
done
like "too low a rate is explained" "$("$warm" --rate=1 large 2>&1)" "warm: --rate: $((4 * page)) or more*"

# on a terminal: how far it is, and how long it will take
if command -v script >/dev/null; then
	cold large
	shown=$(on_terminal "'$warm' --rate=4M large")
	like "the time left goes by the rate" "$shown" "*M of 16M done, [34].*M/s, 0:0[123] left*"
	shown=$(on_terminal "'$warm' --dry-run --rate=4M large")
	is "a dry run is over at once" "$(printf '%s\n' "$shown" | grep -c left)" 0
else
	skip "the time left goes by the rate" "needs script"
	skip "a dry run is over at once" "needs script"
fi

### --idle

# priorities PID: of its threads
priorities() {
	for task in /proc/"$1"/task/*; do ionice -p "${task##*/}"; done
}

cold a b c d
"$warm" --idle --rate=1M a b c d >/dev/null 2>&1 &
pid=$!
sleep 0.7
if command -v ionice >/dev/null; then
	is "every thread reads with idle priority" "$(priorities "$pid" | sort -u)" idle
	ok "of several" [ "$(priorities "$pid" | wc -l)" -gt 2 ]
	cold a b c d
	"$warm" --rate=1M a b c d >/dev/null 2>&1 &
	other=$!
	sleep 0.5
	is "none does unless told" "$(priorities "$other" | grep -c idle)" 0
	kill "$other"
	wait "$other"
else
	skip "every thread reads with idle priority" "needs ionice"
fi
kill "$pid"
wait "$pid"
run "$BUILD/tests/enosys" ioprio_set -- "$warm" --idle a
like "where there is no such priority it is said" "$status:$err" "3:warm: --idle: *"
disk=$(stat -c %d a)
scheduler=$(sed -n 's/.*\[\(.*\)\].*/\1/p' "/sys/dev/block/$((disk >> 8)):$((disk & 255))/queue/scheduler" 2>/dev/null)
run "$warm" -v --idle a
case $scheduler in
none | kyber) like "-v tells that the scheduler takes no notice" "$err" "*warm: a: --idle does nothing there: *, $scheduler,*" ;;
*) is "nothing is said of a scheduler" "$(echo "$err" | grep -c 'does nothing')" 0 ;;
esac

### --dry-run

cold large a
"$pages" --warm a 0 $((10 * page))
run "$warm" -f kv --dry-run a
is "a dry run" "$(figures)" "$((4 * MiB)) $((10 * page)) $((4 * MiB - 10 * page)) 0 $((10 * page)) 0 0"
is "reads nothing" "$(resident a)" 10
like "and tells what would be read" "$err" "warm: a dry run: 4.0M ($((4 * MiB - 10 * page)) bytes) would be read, the budget is *"
cold large a
run "$warm" -f kv --dry-run --budget=5M -j 1 a large
is "what fits" "$(figures)" "$((4 * MiB)) 0 $((4 * MiB)) 0 0 0 1"
is "and what does not" "$(value missing_bytes 2) $(value skipped_bytes 2)" "$((16 * MiB)) $((16 * MiB))"
like "is said" "$err" "*warm: 1 files not started, 16M ($((16 * MiB)) bytes): the budget is 5.0M *"
is "still nothing was read" "$(resident a) $(resident large)" "0 0"
run "$warm" --dry-run --budget=5M --min 100 a
is "--min is about what would be in memory" "$status" 0
run "$warm" --dry-run --budget=3M --min 1 a
is "where it would not" "$status:$(printf '%s\n' "$err" | grep -- --min)" \
	"2:warm: a: 0.00% would be in memory, --min asks for 1%"
cold a
run "$warm" -f kv a
is "a run that reads has missing_bytes too" "$(figures)" "$((4 * MiB)) 0 $((4 * MiB)) $((4 * MiB)) $((4 * MiB)) 0 0"
run "$warm" -f kv --dry-run a
is "then there is nothing to do" "$(figures)" "$((4 * MiB)) $((4 * MiB)) 0 0 $((4 * MiB)) 0 0"
run "$warm" --dry-run missing a
is "a file that is missing" "$status" 1
run "$warm" -f kv -q --dry-run a
is "-q: no note" "$err" ""
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	truncate -s $((10 * page)) "$shm/sparse"
	run "$warm" --dry-run --min 1 "$shm/sparse"
	is "holes of tmpfs would not come in" "$status" 2
else
	skip "holes of tmpfs would not come in" "needs a writable /dev/shm"
fi
if [ "$(id -u)" -eq 0 ]; then
	chmod 644 a
	run as_nobody "$warm" -f kv --dry-run a
	is "what the caller may not see is not planned" "$(figures)" "     0 1"
	run as_nobody "$warm" -f kv --dry-run --min 1 a
	is "whether --min would hold cannot be told" "$status" 3
else
	skip "files of others" "needs root"
fi

### A budget is pages

for name in 1 2 3; do echo x >small$name; done
cold small1 small2 small3
run "$warm" -f kv -j 1 --budget=$((2 * page)) small1 small2 small3
is "small files take a page each, in the order given" \
	"$(value skipped_bytes 1) $(value skipped_bytes 2) $(value skipped_bytes 3) $status" "0 0 2 1"
is "mincore agrees" "$(resident small1) $(resident small2) $(resident small3)" "1 1 0"

### A total is of the whole run

mkfifo names
{
	sleep 0.5
	echo b
	sleep 1
} >names &
run "$warm" -T names a
is "it has the time spent with no file as well" "$(printf '%s\n' "$out" | awk '
	$NF == "names" { print ($(NF - 2) < 0.5) }
	$NF == "total" { print ($(NF - 2) >= 1.4), ($(NF - 2) < 10) }')" "1
1 1"

### Memory is tight

cold large
run "$warm" large
is "within the budget there is no pause" "$status:$err" "0:"

stalls
memory 8192 100000
if (made_up true) 2>/dev/null; then
	cold large
	started made_up "$warm" -f kv -t 60 -j 2 --budget=100M --rate=4M large
	sleep 1
	tighten
	sleep 1.5 # twice the time between looks, and more
	before=$(resident large)
	sleep 1
	ok "while tasks wait for memory, nothing is read" [ "$(resident large)" -le "$before" ]
	ok "which was not at the end" [ "$before" -lt $((4096 - 64)) ]
	ok "nor at the beginning" [ "$before" -gt 256 ]
	relax
	ended
	is "when they do not, it goes on" "$(value resident_bytes) $status" "$((16 * MiB)) 0"
	is "both is said, and for how long in all" "$(printf '%s\n' "$err" | sed 's/[0-9][0-9.]*/N/g')" \
		"warm: memory is tight: tasks waited for it N% of the time; reading pauses
warm: memory is no longer tight: reading goes on after N s
warm: paused for N s in all, while memory was tight"
	paused=$(printf '%s\n' "$err" | sed -n 's/.*paused for \([0-9]*\)\.\([0-9]\) s.*/\1\2/p')
	ok "that is at least as long as they waited" [ "$paused" -ge 20 ]
	ok "the time is part of the figures" [ "$(value seconds | tr -d .)" -ge $((4000 + paused * 100 - 100)) ]

	stalls
	cold large
	started made_up "$warm" -f kv --budget=100M --rate=4M large
	sleep 0.5
	tighten
	sleep 1.5
	before=$(milliseconds)
	kill -INT "$pid"
	ended
	ok "SIGINT ends a pause" [ $(($(milliseconds) - before)) -lt 1000 ]
	is "with the figures until then" "$status $(value resident_bytes)" "130 $(($(resident large) * page))"
	ok "which were read" [ "$(value read_bytes)" -ge "$(value resident_bytes)" ]
	like "and the time of the pause" "$err" "*reading pauses
warm: paused for * s in all*"
	cold large
	before=$(milliseconds)
	started made_up "$warm" -f kv --budget=100M --rate=4M -t 2 large
	ended
	took=$(($(milliseconds) - before))
	ok "so does the time limit" [ "$took" -ge 1900 ] || note "$took ms"
	ok "at once" [ "$took" -lt 4000 ] || note "$took ms"
	is "with its own status" "$status" 1
	relax

	memory 900000 900000
	cold large
	stalls
	tighten
	started made_up "$warm" -f kv -t 20 --budget=100M --rate=8M large
	ended
	is "where much is free, they wait for something else" "$status:$err" "0:"
	relax
else
	skip "memory that is tight" "needs root, unshare and /proc/pressure"
fi

### --cgroup

run "$warm" --cgroup=/no/such/cgroup a
is "no such cgroup" "$status:$err" "3:warm: --cgroup=/no/such/cgroup: no such cgroup: it is a folder below /sys/fs/cgroup, or a name as in /proc/PID/cgroup"
run "$warm" --cgroup=/etc a
is "a folder that is none" "$status" 3
run "$warm" --cgroup= a
is "no name" "$status" 3

# charge: bytes of files that the cgroup pays for
charge() {
	sed -n 's/^cache //p' "$group/memory.stat"
}

if has_cgroup; then
	group=/sys/fs/cgroup/memory/hotset-manners.$$
	mkdir "$group"
	on_exit "rmdir $group 2>/dev/null"
	echo 64M >"$group/memory.limit_in_bytes"
	cold large
	is "nothing is charged to it before" "$(charge)" 0
	run "$warm" -f kv --cgroup="$group" large
	is "a cgroup by its folder" "$status:$err:$(value resident_bytes)" "0::$((16 * MiB))"
	ok "pays" [ "$(charge)" -ge $((16 * MiB)) ]
	ok "for no more than that" [ "$(charge)" -lt $((20 * MiB)) ]
	cold large
	ok "until it is dropped" [ "$(charge)" -lt $((4 * MiB)) ]
	run "$warm" -f kv --cgroup="/${group##*/}" large
	is "by its name" "$status:$err" "0:"
	ok "pays as well" [ "$(charge)" -ge $((16 * MiB)) ]

	truncate -s 512M huge
	"$pages" --evict huge
	run "$warm" -f kv --cgroup="$group" huge
	is "its limit is the budget's" "$(figures)" "$((512 * MiB)) 0 $((512 * MiB)) 0 0 $((512 * MiB)) 1"
	like "the message names it" "$err" "warm: 1 files not started, 512M * of the limit of memory cgroup $group, 64M; --budget=*"
	is "and asks for no other one" "$(echo "$err" | grep -c -- --cgroup)" 0
	run "$warm" -f kv --cgroup="$group" --dry-run -p 0:40M huge
	is "a dry run there" "$(figures)" "$((40 * MiB)) 0 $((40 * MiB)) 0 0 0 0"
	run "$warm" -f kv --cgroup="$group" --dry-run -p 0:61M huge
	is "less the reserve, a sixteenth" "$(figures)" "$((61 * MiB)) 0 $((61 * MiB)) 0 0 $((61 * MiB)) 1"
	run "$warm" -f kv --cgroup=/sys/fs/cgroup/cpu a
	case $status:$err in
	3:*"does not count memory"* | 3:*"no such cgroup"*) ok "a cgroup of another controller" true ;;
	*) is "a cgroup of another controller" "$status:$err" "3:" ;;
	esac
	run as_nobody "$warm" --cgroup="$group" a
	like "without privilege" "$status:$err" "3:warm: --cgroup=$group: no right to move into this cgroup: *root*"
	cold large
	rmdir "$group"

	### Asked for more than its own cgroup holds

	"$pages" --evict huge
	in_cgroup 64M "$warm" -f kv huge
	is "512 MiB in a cgroup of 64 MiB: not started, not killed" "$(figures) $killed" \
		"$((512 * MiB)) 0 $((512 * MiB)) 0 0 $((512 * MiB)) 1 0"
	is "mincore agrees" "$(resident huge)" 0
	like "the message names the cgroup, its limit and a way out" "$err" \
		"warm: 1 files not started, 512M (536870912 bytes): * of the limit of memory cgroup $group, 64M; *--cgroup=PATH*"
	in_cgroup 64M "$warm" -f kv --min 50 huge
	is "nor is it half" "$status $killed" "2 0"
	for try in 1 2 3; do # what came in may go again before it is looked at
		"$pages" --evict huge
		in_cgroup 64M "$warm" -f kv -p 0:40M huge
		there=$(resident huge)
		[ $((there * page)) -ne $((40 * MiB)) ] || break
	done
	is "what fits comes in" "$(figures) $killed" "$((40 * MiB)) 0 $((40 * MiB)) $((40 * MiB)) $((40 * MiB)) 0 0 0"
	is "mincore agrees" $((there * page)) $((40 * MiB)) || note "$try tries"
	"$pages" --evict huge

	# the first one fits into the budget, the other one not any more
	truncate -s 10M first second
	for try in 1 2 3; do
		cold first second
		in_cgroup 16M "$warm" -f tsv -j 1 first second
		there=$(resident first)
		[ $((there * page)) -ne $((10 * MiB)) ] || break
	done
	is "of two, the first one given" "$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $1, $6, $8 }') $status $killed" \
		"first $((10 * MiB)) 0
second 0 $((10 * MiB)) 1 0"
	is "mincore agrees" "$((there * page)) $(resident second)" "$((10 * MiB)) 0" || note "$try tries"
	rm huge first second
else
	skip "memory cgroups" "needs root and a writable version 1 hierarchy"
fi

done_testing
