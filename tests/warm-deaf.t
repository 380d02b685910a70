#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm --evict where a process holds a file of a server that does not answer
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

run timeout -k 1 10 "$warm" --evict -f kv file
is "the look at all processes does not wait for it" "$status:$(value skipped_files)" 1:1
like "it finds who has the file" "$err" "*file: left: process $sleeper (sleep)*"

kill $server # for what follows it is gone, and answers with an error
run "$enosys" statx -- timeout -k 1 10 "$warm" --evict -f kv file
like "without statx the same" "$status:$err" "1:*file: left: process $sleeper (sleep)*"

done_testing
