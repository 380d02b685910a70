#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio --self-test: finds the truth where it is counted, says so where it is not, and
# leaves nothing behind.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/family.sh"

hitratio=$BUILD/hitratio
enosys=$BUILD/tests/enosys
mkdir "$TMP/folder" "$TMP/mount" || exit 1

# shellcheck disable=SC2317 # called by well_formed
fields() {
	echo case truth_hits truth_misses hits misses verdict tier
}

note "mistakes"

for mistake in "a b" "-- true" "-p 1" "-T" "--estimate" "--tier=proc" "--with-faults"; do
	# shellcheck disable=SC2086 # words are meant
	run "$hitratio" --self-test $mistake
	like "--self-test $mistake: exit 3" "$status:$out:$err" "3::hitratio: ?*"
done

if [ "$(id -u)" -ne 0 ]; then
	run "$hitratio" --self-test "$TMP/folder"
	like "without privilege: exit 3" "$status:$out:$err" "3::*CAP_BPF and CAP_PERFMON*"
	skip "everything that counts" "needs root"
	done_testing
fi
"$hitratio" 0.1 1 >"$TMP/out" 2>&1
if [ $? -eq 3 ]; then
	run "$hitratio" --self-test "$TMP/folder"
	is "where nothing can be counted, nobody can tell" "$status:$out" "3:"
	done_testing
fi

note "the truth"

# which of them a kernel allows is its own business, but one it does
tested=
for tier in full kprobe tracepoint; do
	run "$hitratio" --self-test --tier=$tier -f tsv "$TMP/folder"
	if [ "$status" -eq 3 ] && [ -z "$out" ]; then
		note "$err"
		continue
	fi
	tested=$tested$tier
	is "$tier: exact" "$status:$err" "0:"
	is "$tier: every case" "$(printf '%s\n' "$out" | grep -c "	exact	$tier$")" 9
	is "$tier: hits and misses are not all 0" "$(printf '%s\n' "$out" | awk -F '\t' '
		NR > 1 && $3 + $2 < 500 { print $1 }')" ""
done
ok "at least one way of counting" [ "$tested" ]
for format in text tsv kv json prom; do
	run "$hitratio" --self-test -f $format "$TMP/folder"
	is "-f $format: exact" "$status:$err" "0:"
	ok "-f $format is well-formed" well_formed $format
done
run "$hitratio" --self-test -o "$TMP/report" "$TMP/folder"
is "-o: nothing on standard output" "$status:$out$err" "0:"
is "-o: the report" "$(grep -c ' exact *$' "$TMP/report")" 9
run "$hitratio" --self-test -v "$TMP/folder"
like "-v: what counts" "$err" "hitratio: exact: *fills *"
run env TMPDIR="$TMP/nowhere" "$hitratio" --self-test
like "without a folder, TMPDIR" "$status:$out:$err" "3::hitratio: $TMP/nowhere: No such file*"
status=0
"$hitratio" --self-test "$TMP/folder" >/dev/full 2>"$TMP/err" || status=$?
like "on a full disk" "$status:$(cat "$TMP/err")" "2:hitratio: *: No space left on device*"

note "not the truth"

# faults that bring in more than was asked for: of a mapping, the count of misses is then off
run "$enosys" madvise=NONE -- "$hitratio" --self-test -f tsv "$TMP/folder"
like "a count that differs: exit 2" "$status:$out" "2:*mapping*	differs	*"
is "and only that one" "$(printf '%s\n' "$out" | grep -c '	exact	')" 8
run "$enosys" pread64=EIO -- "$hitratio" --self-test -f tsv "$TMP/folder"
like "a read that fails: exit 3" "$status:$out:$err" "3:*	unknown	*: I/O error*"
run "$enosys" mincore=EPERM -- "$hitratio" --self-test "$TMP/folder"
like "no truth to be had: exit 3" "$status:$out:$err" "3::hitratio: *: Operation not permitted*"
run "$enosys" fadvise64=NONE -- "$hitratio" --self-test "$TMP/folder"
like "pages that do not go: exit 3" "$status:$out:$err" "3::hitratio: $TMP/folder: *tmpfs*"
if mount -t tmpfs -o size=64m none "$TMP/mount" 2>/dev/null; then
	on_exit "umount '$TMP/mount'"
	run "$hitratio" --self-test "$TMP/mount"
	like "tmpfs: exit 3" "$status:$out:$err" "3::hitratio: $TMP/mount: *tmpfs*"
	mount -o remount,size=1m "$TMP/mount"
	run "$hitratio" --self-test "$TMP/mount"
	like "no room: exit 3" "$status:$out:$err" "3::hitratio: $TMP/mount: No space left*"
else
	skip "tmpfs" "cannot be mounted here"
fi
run "$hitratio" -t 0.01 --self-test "$TMP/folder"
is "--timeout: exit 3" "$status" 3

note "nothing is left"

# gone PID: within five seconds; init may take its time over what is dead
# shellcheck disable=SC2317 # called by ok
gone() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z*) return 0 ;; esac
		sleep 0.25
	done
	return 1
}

# ended SIGNAL: sends it in the middle of the test; sets $status, and $child
ended() {
	"$hitratio" --self-test "$TMP/folder" >"$TMP/out" 2>&1 &
	tester=$! child=
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		child=$(tr -d ' ' <"/proc/$tester/task/$tester/children")
		[ "$child" ] && break
		sleep 0.05
	done
	kill "-$1" $tester
	status=0
	wait $tester || status=$?
}
ended INT
is "SIGINT: status 130" "$status" 130
ended KILL
ok "SIGKILL: its child goes too" gone "${child:-none}"
is "no file" "$(ls -A "$TMP/folder")" ""

done_testing
