#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that does not answer, as of a server that is gone: a time limit and signals end
# every tool that looks at files there, and warm --evict where only another process has one open.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need perl
[ -c /dev/fuse ] || skip_all "needs /dev/fuse"
warm=$BUILD/warm
enosys=$BUILD/tests/enosys
deaf=$(cd "$(dirname "$0")/helper" && pwd -P)/deaf.pl
cd "$TMP" || exit 1

mkdir served
perl "$deaf" served &
server=$!
on_exit "kill $server 2>/dev/null; umount -l '$TMP/served'"
for _ in $(seq 100); do
	mountpoint -q served && break
	sleep 0.05
done
mountpoint -q served || skip_all "cannot mount FUSE"
# shellcheck disable=SC2217 # it only holds it
sleep 1000 <served/f &
holder=$!
on_exit "kill $holder"

head -c 40960 /dev/zero >file
sync file
for _ in $(seq 100); do
	[ "$(readlink /proc/$holder/fd/0)" != "$TMP/served/f" ] || break
	sleep 0.05
done
is "the file of the server is open" "$(readlink /proc/$holder/fd/0)" "$TMP/served/f"
# shellcheck disable=SC2217
sleep 1000 <file &
sleeper=$!
on_exit "kill $sleeper"
for _ in $(seq 100); do
	[ "$(readlink /proc/$sleeper/fd/0)" != "$TMP/file" ] || break
	sleep 0.05
done

run timeout -k 1 10 "$warm" --evict -f kv file
is "the look at all processes does not wait for it" "$status:$(value skipped_files)" 1:1
like "it finds who has the file" "$err" "*file: left: process $sleeper (sleep)*"

echo x >"$TMP/here"

# ends NAME STATUS ARGUMENT...: of its own accord, within its time limit and a second or two
ends() {
	ends_name=$1
	ends_status=$2
	shift 2
	run timeout -s KILL 8 "$@"
	like "$ends_name" "$status" "$ends_status" || note "$err"
}

ends "resident" 3 "$BUILD/resident" -t 1 "$TMP/served/file"
ends "warm" '[12]' "$BUILD/warm" -t 1 "$TMP/served/file"
like "warm says why" "$err" "*not done within the time allowed (--timeout)*"
ends "warm, a folder" '[12]' "$BUILD/warm" -t 1 "$TMP/served/folder"
ends "warm --idle" '[12]' "$BUILD/warm" -t 1 --idle -j 2 "$TMP/served/file"
ends "warm --evict" '[12]' "$BUILD/warm" -t 1 --evict "$TMP/served/file"
ends "warm --evict --dry-run" '[12]' "$BUILD/warm" -t 1 --evict --dry-run "$TMP/served/file"
ends "warm --restore" 2 "$BUILD/warm" -t 1 --restore="$TMP/served/snapshot"
printf 'h - - [1] "GET /x HTTP/1.0" 200 1\n' >"$TMP/log"
ends "warm --log" '[12]' "$BUILD/warm" -t 1 --log="$TMP/log" --root="$TMP/served"
ends "lock" '[12]' "$BUILD/lock" -t 1 "$TMP/here" "$TMP/served/file"
ln -s here link
: >locked
"$BUILD/lock" link >locked 2>&1 &
locker=$!
on_exit "kill -KILL $locker 2>/dev/null"
for _ in $(seq 100); do
	! grep -q pinned locked || break
	sleep 0.05
done
ln -s served/file next
mv -T next link
sleep 1
ends "lock, while a file does not come" 0 sh -c "kill $locker; tail --pid=$locker -f /dev/null"
status=0
kill -KILL $locker 2>/dev/null
wait $locker || status=$?
is "it ends as usual" "$status" 143
ends "what else there is to load is loaded" '[12]' "$BUILD/warm" -t 1 -f tsv "$TMP/here" "$TMP/served/file"
like "and told" "$out" "*$TMP/here	1	2	*"
kill $server # for what follows it is gone, and answers with an error
run "$enosys" statx -- timeout -k 1 10 "$warm" --evict -f kv file
like "without statx the same" "$status:$err" "1:*file: left: process $sleeper (sleep)*"

done_testing
