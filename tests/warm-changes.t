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

### Parts behind the end of a file

rm -rf ./*
file a 2 100
file b 4
size=$((2 * page + 100))
printf '%s\t%s\n' 1000000:4096 a "$page:$((2 * page))" a "0:$page" b "$((3 * page)):$page" b >list
run "$warm_tool" -f kv --ranges --min=100 -T list
is "what a file does not have is told" "$status:$(value files):$(value size_bytes):$err" \
	"1:2:$((size + page)):warm: parts that were asked for lie behind the end of 1 files, which may have been longer once; -v names them"
run "$warm_tool" -v --ranges -T list
like "-v names it" "$err" "*warm: a: parts that were asked for lie behind its end*"
run "$warm_tool" --dry-run -q --ranges -T list
is "a dry run says so, too" "$status" 1
printf '0:%s\ta\n' $((3 * page)) >list
run "$warm_tool" -q --ranges -T list
is "up to the end of its last page is nothing to tell" "$status:$err" "0:"

# a snapshot with pages of b in three heats
cat b >/dev/null
"$resident" -q --save=snap b >/dev/null
{
	grep -v -e ^in -e ^end snap
	printf 'in\t%s\t%s\t%s\n' 0 "$page" 3 "$page" "$page" 1 $((2 * page)) $((2 * page)) 2
	grep ^end snap
} >heats
truncate -s $((page + 1)) b
run "$warm_tool" -f kv --restore=heats --changed=ranges
is "a file that became shorter since a snapshot" "$status:$(value size_bytes)" "1:$((page + 1))"
like "it counts once" "$err" "*behind the end of 1 files,*"
run "$warm_tool" -f kv --restore=heats --changed=whole
is "as a whole nothing of it is missing" "$status:$(value size_bytes)" "0:$((page + 1))"

### A file that becomes shorter while it is read

file cut 512
size=$((512 * page))
{
	sleep 0.5
	truncate -s $((16 * page)) cut
} &
run "$warm_tool" -f kv --rate=$((size / 2)) cut
wait $!
is "a file that is cut meanwhile is no success" "$status:$(value size_bytes)" "1:$size"
like "what it lost is told, and nothing else" "$err" \
	"warm: * ($((496 * page)) bytes) are not there any more: files became shorter, or were replaced or removed"

done_testing
