#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that does not answer, as of a server that is gone: a time limit and signals end
# every tool that looks at files there.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

need_root
mkdir "$TMP/deaf"
"$BUILD/tests/deaf" "$TMP/deaf" >"$TMP/mounted" 2>"$TMP/mount.err" &
deaf=$!
on_exit "umount -l $TMP/deaf 2>/dev/null; kill $deaf 2>/dev/null"
tries=0
until [ -s "$TMP/mounted" ] || [ -s "$TMP/mount.err" ] || [ $tries -eq 50 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
[ -s "$TMP/mounted" ] || skip_all "needs FUSE: $(cat "$TMP/mount.err")"
echo x >"$TMP/here"

# ends NAME STATUS ARGUMENT...: of its own accord, within its time limit and a second or two
ends() {
	ends_name=$1
	ends_status=$2
	shift 2
	run timeout -s KILL 8 "$@"
	like "$ends_name" "$status" "$ends_status" || note "$err"
}

ends "resident" 3 "$BUILD/resident" -t 1 "$TMP/deaf/file"
ends "warm" '[12]' "$BUILD/warm" -t 1 "$TMP/deaf/file"
like "warm says why" "$err" "*not done within the time allowed (--timeout)*"
ends "warm, a folder" '[12]' "$BUILD/warm" -t 1 "$TMP/deaf/folder"
ends "warm --idle" '[12]' "$BUILD/warm" -t 1 --idle -j 2 "$TMP/deaf/file"
ends "warm --evict" '[12]' "$BUILD/warm" -t 1 --evict "$TMP/deaf/file"
ends "warm --restore" 2 "$BUILD/warm" -t 1 --restore="$TMP/deaf/snapshot"
printf 'h - - [1] "GET /x HTTP/1.0" 200 1\n' >"$TMP/log"
ends "warm --log" '[12]' "$BUILD/warm" -t 1 --log="$TMP/log" --root="$TMP/deaf"
ends "what else there is to load is loaded" '[12]' "$BUILD/warm" -t 1 -f tsv "$TMP/here" "$TMP/deaf/file"
like "and told" "$out" "*$TMP/here	1	2	*"
done_testing
