#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio: counts that equal the truth to the page, and the tool around them.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio

note "without privilege and with mistakes"

for mistake in "0" "x" "1 0" "1 2 3" "-p 0" "-p x" "-p 1 -- true" "--"; do
	# shellcheck disable=SC2086 # words are meant
	run "$hitratio" $mistake
	is "hitratio $mistake: exit 3" "$status" 3
	like "hitratio $mistake: says why" "$err" "hitratio: ?*"
done

if [ "$(id -u)" -ne 0 ]; then
	run "$hitratio" 0.1 1
	is "without privilege: exit 3" "$status" 3
	skip "everything that counts" "needs root"
	done_testing
fi
run as_nobody "$hitratio" 0.1 1
is "a plain user: exit 3" "$status" 3
like "a plain user: is told what is needed" "$err" "*CAP_BPF and CAP_PERFMON*"
is "a plain user: no figures" "$out" ""

run "$hitratio" 0.1 1
if [ "$status" -eq 3 ]; then
	like "this kernel: hitratio says why not" "$err" "hitratio: ?*"
	note "$err"
	done_testing
fi

note "as cachestat prints it"

is "the heading" "$(printf '%s\n' "$out" | head -n 1)" \
	"    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB"
is "one row an interval" "$("$hitratio" 0.1 3 | wc -l)" 4
like "-T: the time comes first" "$("$hitratio" -T 0.1 1 | tail -n 1)" "[0-2][0-9]:[0-5][0-9]:[0-5][0-9] *"
"$hitratio" -f kv 0.2 1 >"$TMP/kv"
buffers=$(sed -n 's/^buffers_bytes=//p' "$TMP/kv")
really=$(awk '$1 == "Buffers:" { print $2 * 1024 }' /proc/meminfo)
ok "buffers are those of /proc/meminfo, within 64 MiB of change" \
	test "$((buffers > really ? buffers - really : really - buffers))" -lt 67108864
is "the tier is named" "$(sed -n 's/^tier=//p' "$TMP/kv")" tracepoint

# no process may read at all while this runs, so it is one that nothing can disturb
sleep 60 &
sleeper=$!
run "$hitratio" -p $sleeper 0.1 1
like "no access has no ratio" "$(printf '%s\n' "$out" | awk 'NR == 2 { print $1, $2, $4 }')" "0 0 -"
is "nor has it in json" "$("$hitratio" -p $sleeper -f json 0.1 1 | grep -c '"accesses":0,"hits":0,"misses":0,"ratio":null')" 1

note "intervals"

# the first row must come out while hitratio still runs, though to a pipe
mkfifo "$TMP/pipe"
"$hitratio" 0.2 >"$TMP/pipe" &
counter=$!
{ read -r _ && read -r row; } <"$TMP/pipe"
ok "each interval is flushed as it ends" test -n "$row"
wait $counter
is "a closed pipe ends it quietly" $? 141

"$hitratio" 10 >"$TMP/rows" &
counter=$!
sleep 1
kill -INT $counter
wait $counter
is "SIGINT: status 130" $? 130
is "SIGINT: what was begun is shown" "$(wc -l <"$TMP/rows")" 2
run "$hitratio" -t 1 10
is "--timeout: exit 3" "$status" 3

# 1000 pages in the middle of a run without COUNT: rows are intervals, not sums
dd if=/dev/zero of="$TMP/pages" bs=4096 count=1000 2>/dev/null
mkfifo "$TMP/go"
# shellcheck disable=SC2016 # the inner shell's
sh -c 'read -r _; dd if="$1" of=/dev/null bs=4096 count=1000 status=none; sleep 1' sh "$TMP/pages" <"$TMP/go" &
reader=$!
"$hitratio" -v -f tsv -p $reader 0.2 >"$TMP/rows" 2>"$TMP/err" &
counter=$!
until grep -q exact: "$TMP/err" || ! kill -0 $counter 2>/dev/null; do sleep 0.1; done
sleep 0.7
echo go >"$TMP/go"
wait $counter
awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ sum += $column["accesses"]; if ($column["interval_s"] > longest) longest = $column["interval_s"] }
	END { print (sum >= 1000 && sum < 1900), (longest < 0.4) }' "$TMP/rows" >"$TMP/verdict"
is "without COUNT, each row is an interval" "$(cat "$TMP/verdict")" "1 1"

"$hitratio" -p $sleeper -f kv 100 >"$TMP/kv" 2>"$TMP/err" &
counter=$!
sleep 1
kill $sleeper
wait $counter
is "a process that ends ends it" $? 0
is "its last interval is shown" "$(grep -c ^accesses= "$TMP/kv")" 1
run "$hitratio" -p 4194303
is "no such process: exit 3" "$status" 3
like "no such process: named" "$err" "*4194303*No such process*"

note "a command"

run "$hitratio" -f kv -- sh -c 'cat /dev/null; exit 7'
is "its status is passed on" "$status" 7
like "the report is on standard error" "$err" "*accesses=*"
is "standard output is its own" "$out" ""
run "$hitratio" -- /nonexistent/command
is "not found: 127" "$status" 127
run "$hitratio" -- /etc/passwd
is "not executable: 126" "$status" 126
# shellcheck disable=SC2016 # $$ is that shell's
run "$hitratio" -- sh -c 'kill -9 $$'
is "killed: 128 + signal" "$status" 137

# cat reads itself and its libraries before the file: the difference is the file's
dd if=/dev/zero of="$TMP/file" bs=4096 count=1000 2>/dev/null
sync "$TMP/file"
counted() {
	"$hitratio" -f kv -o "$TMP/kv" -- cat "$@" >/dev/null
	sed -n "s/^$field=//p" "$TMP/kv"
}
field=hits
counted "$TMP/file" >/dev/null
once=$(counted "$TMP/file")
twice=$(counted "$TMP/file" "$TMP/file")
is "a child's reads are counted" "$((twice - once))" 1000
field=misses
for _ in 1 2 3 4 5; do
	"$BUILD/tests/pages" --evict "$TMP/file" && break
done
is "and its misses" "$(counted "$TMP/file")" 1000

note "pages that are evicted before the call returns"

if has_cgroup; then
	dd if=/dev/zero of="$TMP/large" bs=1M count=64 2>/dev/null
	sync "$TMP/large"
	for size in 4M 1M; do
		"$BUILD/tests/pages" --evict "$TMP/large"
		field=misses
		in_cgroup 100M dd if="$TMP/file" of=/dev/null count=0 # dd itself is in memory
		rm -f "$TMP/kv"
		around="$hitratio -f kv -o $TMP/kv --"
		in_cgroup 8M dd if="$TMP/large" of=/dev/null bs=$size iflag=fullblock
		around=
		is "64 MiB by $size at a time, in a cgroup of 8 MiB" \
			"$(sed -n 's/^misses=//p' "$TMP/kv")" 16384
	done
else
	skip "a read in a small memory cgroup" "needs memory cgroups of version 1"
fi

note "what came in is somewhere"

"$BUILD/tests/pages" --evict "$TMP/file"
run "$hitratio" -v -- cat "$TMP/file"
# shellcheck disable=SC2046 # numbers are meant
set -- $(printf '%s\n' "$err" | sed -n 's/.*fills \([0-9]*\) = misses \([0-9]*\) + fault misses \([0-9]*\) + mapped \([0-9]*\) + waste \([0-9]*\) + pending \([0-9]*\) + lost \([0-9]*\)$/\1 \2 \3 \4 \5 \6 \7/p')
is "fills = misses + fault misses + mapped + waste + pending + lost" \
	"${1-none}" "$((${2-0} + ${3-0} + ${4-0} + ${5-0} + ${6-0} + ${7-0}))"

note "nothing is left behind"

# still_loaded ID...: how many of these BPF programs the kernel has
still_loaded() {
	for id; do bpftool prog show id "$id" 2>/dev/null; done | grep -c '^[0-9]*:'
}

"$hitratio" 100 >/dev/null &
counter=$!
sleep 1
# shellcheck disable=SC2046 # numbers are meant
set -- $(cat /proc/$counter/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[^0-9]*//p' | sort -u)
ok "programs are loaded while it runs" test "$#" -gt 5
is "the kernel has them" "$(still_loaded "$@")" "$#"
kill -KILL $counter
wait $counter 2>/dev/null
sleep 1
is "it has none after SIGKILL" "$(still_loaded "$@")" 0

# orphans: BPF programs that no process holds, of those that are not in $TMP/others
orphans() {
	cat /proc/[0-9]*/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[^0-9]*//p' | sort -u >"$TMP/held"
	bpftool prog show 2>/dev/null | sed -n 's/^\([0-9][0-9]*\):.*/\1/p' | sort -u >"$TMP/loaded"
	sort -u "$TMP/held" "$TMP/others" | comm -13 - "$TMP/loaded"
}

: >"$TMP/others"
orphans >"$TMP/others.new" && mv "$TMP/others.new" "$TMP/others"
for moment in 000 008 016 024 032 039 047 055 063 071 079 087 095 103 111 118 126 134 142 150; do
	"$hitratio" 100 >/dev/null 2>&1 &
	counter=$!
	sleep 0.$moment
	kill -KILL $counter
	wait $counter 2>/dev/null
done
for _ in 1 2 3 4 5; do # the kernel frees them in its own time
	[ -n "$(orphans)" ] || break
	sleep 0.5
done
is "nor after SIGKILL at 20 moments of its start" "$(orphans)" ""

note "squashfs, where pages behind the end of a file never become valid"

# in a mount namespace of its own: other tests shall not be told of this mount
cat >"$TMP/squashed" <<'EOF'
mount -o loop,ro "$1" "$2" || exit 99
for reading in first again; do
	"$3" -f kv -o "$4.$reading" -- cat "$2"/[0-9]* >/dev/null 2>"$4.$reading.err"
	echo $? >"$4.$reading.status"
done
EOF
squashed() {
	command -v mksquashfs >"$TMP/out" && mkdir "$TMP/plain" "$TMP/squash" || return 1
	for i in 1 2 3 4 5 6 7 8 9 10; do # five pages each
		dd if=/dev/urandom of="$TMP/plain/$i" bs=20000 count=1 2>/dev/null
	done
	mksquashfs "$TMP/plain" "$TMP/squash.img" -quiet -no-progress >"$TMP/out" 2>&1 &&
		unshare -m sh "$TMP/squashed" "$TMP/squash.img" "$TMP/squash" "$hitratio" "$TMP/squash"
}
if squashed 2>"$TMP/err"; then
	is "what brings them in is counted" "$(sed -n 's/^misses=//p' "$TMP/squash.first")" 50
	tier=$(sed -n 's/^tier=//p' "$TMP/squash.first")
	said="$(cat "$TMP/squash.first.status"):$(cat "$TMP/squash.first.err")"
	again="$(cat "$TMP/squash.again.status"):$(cat "$TMP/squash.again.err")"
	if [ "$tier" = tracepoint ]; then
		like "that what follows is not is said at the end" "$said" \
			"1:*$TMP/squash: *pages behind the end of a file of squashfs came in 10 times*"
		like "of what was there before, at the start" "$again" "0:*$TMP/squash: reads that reach the end*"
	else
		is "and there is nothing to be said" "$said;$again" "0:;0:"
		ok "what is read again is counted" test "$(sed -n 's/^hits=//p' "$TMP/squash.again")" -ge 50
	fi
else
	skip "squashfs" "needs mksquashfs, unshare and loop devices"
fi

note "the truth, page by page"

# truth NAME FOLDER [CASE...]: every workload, or these, each a test of its own
truth() {
	name=$1
	folder=$2
	shift 2
	"$BUILD/tests/truth" "$hitratio" "$folder" "$@" >"$TMP/truth" || note "truth ended with $?"
	seen=0
	while IFS= read -r line; do
		what=${line#*ok * - }
		case $line in
		*" # SKIP "*) skip "$name: ${what%% # SKIP *}" "${what#* # SKIP }" ;;
		ok*) verdict 0 "$name: $what" ;;
		"not "*) verdict 1 "$name: $what" ;;
		1..*) is "$name: every workload has run" "$seen" "${line#1..}" ;;
		esac
		seen=$((seen + 1))
	done <"$TMP/truth"
	[ "$seen" -gt 0 ] || verdict 1 "$name: workloads ran"
}

# elsewhere NAME FOLDER: as truth, but of the plain patterns only those on files that are half in
# memory, which have both hits and misses: ext4 has them all
elsewhere() {
	where=$1
	below=$2
	"$BUILD/tests/truth" -l |
		grep -Ev '^(cold|warm) .*, (pread|readv|mmap|sendfile|splice|io_uring)|only when named' >"$TMP/cases"
	set --
	while IFS= read -r line; do
		set -- "$@" "$line"
	done <"$TMP/cases"
	truth "$where" "$below" "$@"
}

# on_loop TYPE: a small file system of that type on a loop device at $TMP/TYPE
on_loop() {
	command -v "mkfs.$1" >/dev/null || return 1
	truncate -s 400M "$TMP/$1.img" && mkdir "$TMP/$1" || return 1
	case $1 in
	ext4) mkfs.ext4 -q -F -O inline_data "$TMP/$1.img" ;; # small files come in another way
	*) "mkfs.$1" -q -f "$TMP/$1.img" ;;
	esac >"$TMP/mkfs.out" 2>&1 || return 1
	mount -o loop "$TMP/$1.img" "$TMP/$1" 2>>"$TMP/mkfs.out" || return 1
	on_exit "umount '$TMP/$1'"
}

everywhere=truth
for type in ext4 xfs btrfs; do
	if on_loop $type; then
		$everywhere $type "$TMP/$type"
	else
		skip "$type" "cannot be made and mounted here"
	fi
	everywhere=elsewhere
done
mkdir "$TMP/lower" "$TMP/upper" "$TMP/work" "$TMP/overlay"
if mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper,workdir=$TMP/work" "$TMP/overlay" 2>/dev/null; then
	on_exit "umount '$TMP/overlay'"
	elsewhere overlay "$TMP/overlay"
else
	skip overlay "cannot be mounted here"
fi

done_testing
