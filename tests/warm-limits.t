#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm and resident where threads, memory or open files are limited: fewer do, and nothing fails
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
cp "$BUILD/warm" "$TMP"
warm=$TMP/warm
mkdir "$TMP/w"
chmod 755 "$TMP/w"
cd "$TMP/w" || exit 1

file small 3
# done_as: what both tools say of a file that is loaded
done_as="1 $((3 * page)) 0:"

### Threads

pids=/sys/fs/cgroup/pids/hotset-test.$$
if [ "$(id -u)" -eq 0 ] && mkdir "$pids" 2>/dev/null; then
	on_exit "rmdir $pids"
	# few TASKS COMMAND...: in a cgroup of so many tasks
	few() {
		echo "$1" >"$pids/pids.max"
		shift
		# shellcheck disable=SC2016 # the inner shell's
		run sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$pids" "$@"
	}
	for tasks in 3 4 6; do
		few $tasks "$warm" -f kv -j 8 small
		is "warm with $tasks tasks" "$(value files) $(value resident_bytes) $status:$err" "$done_as"
		few $tasks "$resident" -f kv small
		is "resident with $tasks tasks" "$(value files) $(value resident_bytes) $status:$err" \
			"$done_as"
		few $tasks "$warm" --evict -f kv small
		is "--evict with $tasks tasks" "$(value files) $(value resident_bytes) $status:$err" "1 0 0:"
	done
	few 2 "$warm" -f kv small
	is "with two there is none to walk" "$status:$out:$err" "2::warm: cannot start: not even two \
threads: raise the limit (ulimit -u or -v, pids.max of the cgroup, TasksMax= of the unit)"
	few 2 "$resident" -f kv small
	like "resident says so, too" "$status:$out:$err" "2::resident: cannot start: not even two threads: *"
else
	skip "a cgroup of few tasks" "needs root and a writable pids hierarchy of version 1"
fi
run sh -c 'ulimit -v 16000; exec "$0" -f kv -j 64 small' "$warm"
is "little memory for many threads" "$(value files) $(value resident_bytes) $status:$err" "$done_as"
run sh -c 'ulimit -v 2000; exec "$0" -f kv -j 64 small' "$warm"
like "less than that" "$status:$out:$err" \
	"2::warm: cannot start: no memory for 64 threads: raise the limit (ulimit -v), or have fewer by --jobs"

### Open files

mkdir many
i=0
while [ $i -lt 600 ]; do
	i=$((i + 1))
	mkdir many/$i
	echo $i >many/$i/file
done
for limit in 24 64; do
	for jobs in 1 8 128; do
		run sh -c "ulimit -n $limit; exec \"\$@\"" sh "$warm" -f kv -j $jobs --min=0 many
		is "600 folders, $limit files open, -j $jobs" "$(value files) $(value failed_files) $status" \
			"600 0 0"
	done
	run sh -c "ulimit -n $limit; exec \"\$@\"" sh "$resident" -f kv many
	is "resident with $limit" "$(value files) $status:$err" "600 0:"
	run sh -c "ulimit -n $limit; exec \"\$@\"" sh "$warm" --evict -f kv many
	is "--evict with $limit" "$(value files) $(value failed_files) $status:$err" "600 0 0:"
done
run sh -c 'ulimit -S -n 10; exec "$@"' sh "$warm" -f kv -j 128 --min=0 many
is "a soft limit is raised" "$(value files) $(value failed_files) $status" "600 0 0"

### A sandbox

for name in a b c; do file large-$name 300; done
run "$enosys" mincore=EPERM -- "$warm" -f kv -j 1 large-a large-b large-c
is "without mincore none of these can be measured" \
	"$(value failed_files 1) $(value failed_files 2) $(value failed_files 3) $status" "1 1 1 1"
is "which is said once" "$err" "warm: large-a: mincore(2) is forbidden here (seccomp), so that this \
and maybe more files cannot be measured: allow it (SystemCallFilter=mincore)"

### A list in the other form

for count in 1 600; do
	run sh -c "find many -name file -print0 | sort -z | head -zn $count | '$warm' -f kv -T -"
	is "a list of $count names with NUL" "$status:$err" \
		"2:warm: many/1/file: the list holds NUL: -0 (--null) reads such"
done
run sh -c "find many -name file -print0 | '$warm' -f kv -0 -T -"
is "-0 reads it" "$(value files) $status" "600 0"

done_testing
