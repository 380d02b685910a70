#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm, files of several file systems in turn: each is looked up once
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need_root
need strace

warm=$BUILD/warm
cd "$TMP" || exit 1
mkdir one two
for fs in one two; do
	mount -t tmpfs loop0 $fs || skip_all "cannot mount tmpfs"
	on_exit "umount '$TMP/$fs'"
done
for i in $(seq 20); do
	for fs in one two; do
		head -c 4096 /dev/zero >"$fs/$i"
		echo "$TMP/$fs/$i"
	done
done >list

cd /dev || exit 1 # where the source of these mounts would lead somewhere
run strace -f -o "$TMP/trace" "$warm" -j 1 -f kv -T "$TMP/list"
is "all files are loaded" "$status:$(value files)" 0:40
lookups=$(grep -c '"/proc/self/mountinfo"' "$TMP/trace")
note "$lookups lookups"
ok "each file system is looked up" [ "$lookups" -ge 2 ]
ok "but by a thread once, not with each file" [ "$lookups" -le 8 ]
is "a source that is no path is not looked for" "$(grep -c '"loop0"' "$TMP/trace")" 0

done_testing
