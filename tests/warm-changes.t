#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm, of names and parts that are no longer what they were
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"

cp "$BUILD/warm" "$TMP"
warm_tool=$TMP/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

### What has become no file since a snapshot

# replaced COMMAND...: what a restore says when the command has made w/b something else
replaced() {
	rm -rf a b snap
	file a 4
	file b 4
	cat a b >/dev/null
	"$resident" -q --save=snap a b >/dev/null || return
	rm b
	"$@" || return
	for how in skip ranges whole; do
		run timeout 10 strace -f -o trace -e trace=open,openat \
			"$warm_tool" -f kv --restore=snap --changed=$how
		echo "$how $status $(value files) $(value failed_files)" \
			"$(grep -c '"[^"]*/b"' trace) $(printf '%s' "$err" | grep -c "1 files changed since the snapshot and were left out")"
	done
}
left_out="skip 1 1 1 0 1
ranges 1 1 1 0 1
whole 1 1 1 0 1"

if command -v strace >/dev/null; then
	is "a FIFO is left out, and not opened" "$(replaced mkfifo b)" "$left_out"
	is "a folder" "$(replaced mkdir b)" "$left_out"
	if [ "$(id -u)" -eq 0 ] && mknod null c 1 3 && : <null; then
		is "a character device" "$(replaced mknod b c 1 3)" "$left_out"
		is "a block device" "$(replaced mknod b b 7 0)" "$left_out"
	else
		skip "devices" "cannot make any"
	fi
else
	skip "what has become no file" "needs strace"
fi

done_testing
