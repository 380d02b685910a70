#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lock: pinned is what no eviction takes, and too much is refused
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lock.sh
. "$(dirname "$0")/lock.sh"
need prlimit setpriv

enosys=$BUILD/tests/enosys

### Pinning

file a 300 1
file b 5
asked=$((301 * page))
start a
is "a file is pinned, and reported at once" "$(row)" "1 $asked $asked 0 0 0 pinned"
is "an eviction takes nothing" "$(left a)" 301/301
is "the kernel counts it as locked" "$(awk '/^VmLck/ { print $2 * 1024 }' /proc/$pid/status)" $asked
is "it goes first when memory is short" "$(cat /proc/$pid/oom_score_adj)" 1000
ok "it takes little memory itself" \
	[ "$(awk '/^RssAnon/ { print $2 }' /proc/$pid/status)" -lt 1024 ]
stop
is "SIGTERM ends it" "$status:$err" "143:"
is "it is let go" "$(row 2)" "1 $asked 0 0 $asked 0 released"
is "an eviction takes it then" "$(left a)" 0/301
start a
stop INT
is "so does SIGINT" "$status:$(value state 2)" "130:released"
start a
stop KILL
is "and SIGKILL leaves nothing pinned" "$(left a)" 0/301

mkdir tree tree/sub
file tree/c 4
file tree/sub/d 4
ln tree/c tree/e
start tree b
is "a folder" "$(row 1)" "2 $((8 * page)) $((8 * page)) 0 0 0 pinned"
is "another operand" "$(row 2)" "1 $((5 * page)) $((5 * page)) 0 0 0 pinned"
is "all stay" "$(left tree/c) $(left tree/sub/d) $(left b)" "4/4 4/4 5/5"
stop
start -p $((10 * page + 1)):"$page" a
is "a range: the pages that it touches" "$(row)" "1 $((2 * page)) $((2 * page)) 0 0 0 pinned"
is "no others" "$(left a)" 2/301
stop
: >empty
start empty
is "an empty file" "$(row)" "1 0 0 0 0 0 pinned"
stop
run "$lock" -t 0.2 -f kv a
is "a time limit lets go" "$status:$(value state 2)" "0:released"
is "text: rows and their total, twice, under one heading" \
	"$("$lock" -t 0.2 a b | awk '{ print $1, $NF }')" "FILES PATH
1 a
1 b
2 total
1 a
1 b
2 total"
run "$lock" -t 0.000001 -f kv a
is "one too short for anything" "$status:$out" "2:"
like "and it is said" "$err" "lock: nothing is pinned: *--timeout*"
run "$lock" -t 0.2 -f json -o report a
is "a report in a file is the last one" "$status:$(sed 's/.*"state":"//' report)" '0:released"}'
mkfifo names
{ echo a; echo b; } >names &
start -T names
is "a list from a pipe" "$(value path):$(row)" "names:2 $((306 * page)) $((306 * page)) 0 0 0 pinned"
stop

### It stays harmless and true when files change

start a
: >a
head -c $((301 * page)) /dev/zero >a
sleep 1
is "truncated and written again: it is pinned again" "$(left a)" 301/301
stop
is "which is counted" "$status:$(row 2)" "143:1 $asked 0 $asked $asked $asked released"
file a 300 1
start a
truncate -s $((100 * page)) a
sleep 1
is "shrunk: the rest is held" "$(left a)" 100/100
stop
is "and no more of it asked for" "$status:$(row 2)" \
	"143:1 $((100 * page)) 0 $((201 * page)) $((100 * page)) 0 released"
file a 300 1

### Commands

# shellcheck disable=SC2016 # the inner shell's
run "$lock" -f kv a -- sh -c 'echo "$1"
	"$2" --evict a; "$2" a; exit 7' sh word "$pages"
is "a command runs while it is held, and its status counts" "$status:$out" "7:word
301/301"
like "the report goes to standard error" "$err" "path=a*state=pinned*state=released*"
before=$(cat /proc/self/oom_score_adj)
is "the command is not what goes first" \
	"$("$lock" a -- cat /proc/self/oom_score_adj 2>/dev/null)" "$before"
run "$lock" -o report a -- true
is "or to a file" "$status:$out:$err" "0::"
run "$lock" -t 5 a -- ./no-such-command
is "a command that is not there" "$status" 127
run "$lock" a -- ./empty
is "one that cannot be run" "$status" 126
# shellcheck disable=SC2016 # the inner shell's
run "$lock" a -- sh -c 'kill -KILL $$'
is "one that is killed" "$status" 137
run "$lock" -t 5 a --
is "none after --" "$status" 3
run "$lock" -- true
is "no file before --" "$status:$out" "3:"
run sh -c "echo a | '$lock' -t 5 -T - -- cat"
is "the list is not the command's input" "$status:$out" "0:"
"$lock" a -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.05; done' 2>/dev/null &
pid=$!
sleep 0.5
kill -TERM $pid
status=0
wait $pid || status=$?
pid=
is "a signal is passed on to the command, and its status back" "$status" 9
run "$lock" -t 0.3 a -- sleep 20
is "when the time is over, it is ended" "$status" 143
# shellcheck disable=SC2016 # the inner shell's
run timeout 20 "$lock" -t 0.5 a -- sh -c 'trap "\"$1\" --evict a; \"$1\" a >seen" TERM
	while :; do sleep 0.05; done' sh "$pages"
is "also one that ignores SIGTERM" "$status" 137
is "all was let go before" "$(cat seen)" 0/301
run "$enosys" mlock=ENOMEM -- "$lock" -t 5 -f kv b -- touch ran
like "it does not run where nothing could be pinned" "$status:$(ls ran 2>/dev/null):$err" \
	"2::*lock: nothing is pinned*"

### Refusals

quarter=$(awk '/^MemTotal/ { print int($2 / 4) }' /proc/meminfo)
truncate -s $(((quarter + 64) * 1024 / page * page)) huge
run "$lock" -t 5 -f kv huge
asked=$(stat -c %s huge)
allowed=$(value limit_bytes)
is "more than 25 % of the memory is refused" "$status:$(row)" "2:1 $asked     refused"
like "the message names 25 %, what was asked and what is allowed" "$err" \
	"lock: refused: * ($asked bytes) asked, * ($allowed bytes) allowed: 25% of *; --max=*"
is "nothing was read" "$("$pages" huge | cut -d / -f 1)" 0
run "$lock" -t 5 -f kv huge -- touch ran
is "nor is the command run" "$status:$(ls ran 2>/dev/null)" "2:"
if [ "$(id -u)" -eq 0 ]; then
	run "$lock" -t 5 -f kv --dry-run --max 100% huge
	is "--max allows more" "$status:$(row)" "0:1 $asked     "
else
	skip "--max allows more" "needs root"
fi
rm huge
run "$lock" -t 5 -f kv --dry-run a
is "--dry-run pins nothing" "$status:$(row)" "0:1 $((301 * page))     "
run "$lock" -t 5 -f kv --max $((301 * page - 1)) a
is "--max refuses too" "$status:$(value limit_bytes)" "2:$((301 * page - 1))"
like "and is named" "$err" "lock: refused: * ($((301 * page)) bytes) asked, * ($((301 * page - 1)) bytes) allowed: as --max says; *"
start --max $((301 * page)) a
is "what it allows is pinned" "$(row)" "1 $((301 * page)) $((301 * page)) 0 0 0 pinned"
stop
run "$lock" -t 5 -f kv --dry-run --max $((8 * page)) tree tree/sub/d tree/e
is "what is named twice, or has two names, is asked for once" \
	"$status:$(row):$(value files 2):$(value files 3)" "0:2 $((8 * page))     :0:0"
start --max $((8 * page)) tree tree/sub/d tree/e
is "and pinned once" "$(row):$(value files 2):$(value files 3)" \
	"2 $((8 * page)) $((8 * page)) 0 0 0 pinned:0:0"
stop
run "$lock" -t 5 -f kv --dry-run --max $((12 * page - 1)) --count-links tree
is "with --count-links, a name each" "$status:$(value asked_bytes)" "2:$((12 * page))"
run "$lock" -t 5 --max 101% a
is "more than all" "$status" 3

# limited ARGUMENT...: without privilege, 64 KiB may be locked
# shellcheck disable=SC2317 # run calls it
limited() {
	if [ "$(id -u)" -eq 0 ]; then
		prlimit --memlock=65536 -- setpriv --reuid=65534 --regid=65534 --clear-groups \
			--inh-caps=-all "$lock" -t 0.2 -f kv "$@"
	else
		prlimit --memlock=65536 -- "$lock" -t 0.2 -f kv "$@"
	fi
}
chmod 644 a b
run limited a
is "more than may be locked is refused" "$status:$(row)" "2:1 $((301 * page))     refused"
like "the message names the limit and what mends it" "$err" \
	"lock: refused: * ($((301 * page)) bytes) asked, *RLIMIT_MEMLOCK* 64K (65536 bytes)*ulimit -l*LimitMEMLOCK=*cap_ipc_lock*"
run limited b
is "what may be locked is pinned, without privilege" "$status:$(row)" \
	"0:1 $((5 * page)) $((5 * page)) 0 0 0 pinned"

if [ "$(id -u)" -eq 0 ]; then
	file grows 5
	chmod 644 grows
	around="prlimit --memlock=65536 -- setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
	start grows
	# at once: what it grows to in between may be pinned as well
	dd if=/dev/zero of=grows bs=$((20 * page)) count=1 oflag=append conv=notrunc status=none
	sleep 1
	locked=$(awk '/^VmLck/ { print $2 * 1024 }' /proc/$pid/status)
	is "a file that grows beyond the limit: what was held is" "$locked" $((5 * page))
	stop
	around=
	like "and the limit is named" "$err" "lock: grows: not pinned: *RLIMIT_MEMLOCK*"
	rm grows
else
	skip "a file that grows beyond the limit" "needs root"
fi

# what the message says mends it; such a program is not its user's own: no pagemap, no /proc/PID
if [ "$(id -u)" -eq 0 ] && cp "$lock" "$TMP/able" && setcap cap_ipc_lock+ep "$TMP/able" 2>/dev/null; then
	# by way of env: a user has no capabilities before, and setpriv still has
	around="prlimit --memlock=65536 -- setpriv --reuid=65534 --regid=65534 --clear-groups env"
	plain=$lock
	lock=$TMP/able
	start a
	is "with cap_ipc_lock on the program, a plain user pins more" "$(row)" \
		"1 $((301 * page)) $((301 * page)) 0 0 0 pinned"
	is "it is the user's" "$(awk '/^Uid/ { print $3 }' /proc/$pid/status)" 65534
	stop
	is "and knows what it let go" "$status:$(row 2):$err" \
		"143:1 $((301 * page)) 0 0 $((301 * page)) 0 released:"
	lock=$plain
	around=
else
	skip "cap_ipc_lock on the program" "needs root, and capabilities of files where TMPDIR is"
fi

# a soft limit below the hard one
if [ "$(id -u)" -eq 0 ]; then
	chmod 644 a
	run prlimit --memlock=65536:8388608 -- setpriv --reuid=65534 --regid=65534 \
		--clear-groups --inh-caps=-all "$lock" -f kv a -- sh -c 'ulimit -l'
else
	run prlimit --memlock=65536:8388608 -- "$lock" -f kv a -- sh -c 'ulimit -l'
fi
like "the soft limit is raised for us, not for the command" "$status:$out:$err" \
	"0:64:*state=pinned*"
truncate -s 64M wide
run sh -c 'ulimit -v 40000; exec "$@"' sh "$lock" -t 5 -f kv wide
like "too little address space is called that" "$status:$err" "2:lock: wide: *ulimit -v*"
rm wide

### In part

run "$lock" -t 0.2 -f kv missing
is "a missing file" "$status:$out:$err" "2::lock: missing: No such file or directory"
run "$lock" -t 0.2 -f kv missing a
is "among others" "$status:$(row 1) $(row 2):$err" \
	"1:      partial 1 $((301 * page)) $((301 * page)) 0 0 0 pinned:lock: missing: No such file or directory"
run "$enosys" mlock=ENOMEM -- "$lock" -t 0.2 -f kv b
is "what cannot be locked is not claimed" "$status:$(row)" "2:1 $((5 * page)) 0 0 0 0 partial"
like "and said" "$err" "lock: b: *lock: nothing is pinned"
"$pages" --evict b
run "$enosys" sendfile=EIO preadv=EIO pread64=EIO -- "$lock" -t 0.2 -f kv b
is "what cannot be read is not pinned" "$status:$(row)" "2:1 $((5 * page)) 0 0 0 0 partial"
like "and said too" "$err" "lock: b: I/O error*"
truncate -s 16M disk
if [ "$(id -u)" -eq 0 ] && mkfs.ext4 -q -F disk && mounted broken -o loop disk; then
	file broken/file 5
	truncate -s 1M disk # and behind that every read fails
	run timeout -k 1 10 "$lock" -t 5 -f kv broken/file
	is "a disk that fails: mlock would try for ever" "$status:$(row):$err" \
		"2:1 $((5 * page)) 0 0 0 0 partial:lock: broken/file: I/O error
lock: nothing is pinned"
else
	skip "a disk that fails" "needs root, and a loop device"
fi
if [ "$(id -u)" -eq 0 ]; then
	run chroot "$TMP" /lock -t 0.2 -f kv --max 100M /w/a
	is "without /proc it is not known what is pinned" "$status:$(row):$(row 2)" \
		"0:1 $((301 * page))   0  pinned:1 $((301 * page)) 0    released"
else
	skip "without /proc it is not known what is pinned" "needs root"
fi

### tmpfs

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	truncate -s $((10 * page)) "$shm/sparse"
	run "$lock" -t 0.2 -f kv b "$shm/sparse"
	is "holes in tmpfs are not pinned" "$status:$(row):$(row 2)" \
		"1:1 $((5 * page)) $((5 * page)) 0 0 0 pinned:1 $((10 * page)) 0 0 0 0 partial"
	is "nor filled" "$(stat -c %b "$shm/sparse")" 0
	is "and it is said" "$err" \
		"lock: $shm/sparse: not pinned: it has holes, which tmpfs would fill for good"
	rm "$shm/sparse"
	truncate -s 9223372036854775807 "$shm/1" "$shm/2"
	run "$lock" -f kv --dry-run "$shm"
	is "sizes whose sum is more than 64 bits hold" "$status:$(row)" "2:2      refused"
	like "are refused" "$err" "*lock: refused: more than 2^64 bytes asked, *"
else
	skip "holes in tmpfs" "needs a writable /dev/shm"
fi
run "$enosys" mlock2=EPERM -- "$lock" -t 0.2 -f kv b
is "a sandbox without mlock2" "$status:$(row)" "0:1 $((5 * page)) $((5 * page)) 0 0 0 pinned"

if has_cgroup; then
	truncate -s 512M huge
	for max in 25% 1G; do
		in_cgroup 64M "$lock" -t 5 -f kv --max $max huge
		is "512 MiB in a cgroup of 64 MiB, --max $max: refused, not killed" \
			"$status:$(row) $killed" "2:1 536870912     refused 0"
		like "the message names the cgroup and its limit" "$err" \
			"lock: refused: 512M (536870912 bytes) asked, *: *% of the limit of memory cgroup $group, 64M; *"
	done
	in_cgroup 64M "$lock" -t 0.2 -f kv a
	is "what fits is pinned" "$status:$(row):$(value limit_bytes)" \
		"0:1 $((301 * page)) $((301 * page)) 0 0 0 pinned:16777216"
	"$pages" --evict a
	# A page that is on its way between two lists of the kernel when it is locked is not counted
	# as such until it is reclaimed: again, until all are.
	# shellcheck disable=SC2016 # the inner shell's
	in_cgroup 64M sh -c 'for try in 1 2 3 4 5 6 7 8 9 10; do
			"$3" --evict a
			"$1" a >/dev/null 2>&1 &
			for look in 1 2 3 4 5 6 7 8 9 10; do
				sleep 0.05
				"$3" --evict a # which empties the batches of the processors
				grep -qx "unevictable $2" "$4/memory.stat" && break 2
			done
			kill $!; wait
		done
		"$1" -f kv --dry-run b; kill $!; wait' sh "$lock" $((301 * page)) "$pages" \
		"/sys/fs/cgroup/memory/hotset-test.$$"
	is "what others have locked is a part of the share" \
		"$(value limit_bytes)" $((16777216 - 301 * page))
	truncate -s 62M huge
	"$pages" --evict huge
	in_cgroup 64M "$lock" -f kv --dry-run --max 100% huge
	is "more than what is free is refused, whatever the share" "$status:$(row)" \
		"2:1 65011712     refused"
	like "the message names that" "$err" \
		"lock: refused: 62M (65011712 bytes) asked, 62M (65011712 bytes) not in memory yet, * free or idle of the limit of memory cgroup $group, 64M*: ask for less, *"
	tries=5
	status=
	while [ "$status" != 0 ] && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		cat huge >/dev/null
		in_cgroup 64M "$lock" -f kv --dry-run --max 100% huge
	done
	like "what is in memory already takes no room" "$status:$err" \
		"0:lock: 62M (65011712 bytes) may be pinned, *"
	rm huge
else
	skip "memory cgroups" "needs root and a writable version 1 hierarchy"
fi

done_testing
