#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm, files of many holes: what is in memory of them is found at once, however long they are
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"

cp "$BUILD/warm" "$TMP"
warm_tool=$TMP/warm
cd "$TMP" || exit 1
tera=$((1 << 40))

# quick ARGUMENT...: as run, of warm, which has ten seconds
quick() {
	run timeout -k 1 10 "$warm_tool" -f kv "$@"
}

# figures: the exit status and what was there, was missed, and is there
figures() {
	echo "$status $(value already_bytes) $(value skipped_bytes) $(value resident_bytes)"
}

truncate -s 8T sparse 2>/dev/null || skip_all "no files of 8 TiB here"
run "$resident" -f json sparse
case $out in *cachestat*) ;; *) skip_all "needs cachestat" ;; esac

# one: the first page of sparse, and that in the middle, are in memory
one() {
	for try in 1 2 3 4 5; do
		"$pages" --warm sparse 0 "$page"
		"$pages" --warm sparse $((4 * tera)) "$page"
		run "$resident" -f kv sparse
		[ "$(value resident_bytes)" != $((2 * page)) ] || return 0
	done
	note "after $try tries: $out"
}

one
quick sparse
is "what does not fit is not looked for page by page" "$(figures)" \
	"1 $((2 * page)) $((8 * tera - 2 * page)) $((2 * page))"
one
quick --dry-run sparse
is "nor by a dry run" "$(figures)" "1 $((2 * page)) $((8 * tera - 2 * page)) $((2 * page))"
one
quick -p 1:$((4 * tera)) sparse
is "pages at the ends of a range count to the byte" "$(figures)" \
	"1 $page $((4 * tera - page)) $page"
one
quick --evict sparse
is "what is in memory far behind is found and dropped" \
	"$status $(value already_bytes) $(value evicted_bytes) $(value resident_bytes) $(value failed_files)" \
	"0 $((2 * page)) $((2 * page)) 0 0"

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && longest=$(mktemp /dev/shm/hotset.XXXXXX); then
	on_exit "rm -f $longest"
	echo x >"$longest"
	truncate -s 9223372036854775807 "$longest"
	quick "$longest"
	is "the longest file that there is" "$(figures)" "1 $page $((9223372036854775807 - page)) $page"
	quick --evict "$longest"
	is "it is left, as tmpfs is memory" "$status $(value already_bytes) $(value tmpfs_bytes)" \
		"1 $page $page"
else
	skip "the longest file that there is" "no tmpfs at /dev/shm"
fi

done_testing
