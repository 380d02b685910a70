#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Pages of which only some blocks are in memory, where blocks are smaller than pages: they are not
# in memory for who asks, and yet there is something to evict. And what is in no page cache at all.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
warm_tool=$BUILD/warm
need perl
need_root
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# blocks FILE FIRST COUNT: writes the first block, of $block bytes, of each of these pages, whatever
# else there is of them
blocks() {
	perl -e '($name, $page, $block, $first, $count) = @ARGV;
		open F, "+<", $name or die $!;
		for (0 .. $count - 1) {
			sysseek F, ($first + $_) * $page, 0;
			syswrite(F, "x" x $block) == $block or die $!;
		}' "$1" "$page" "$block" "$2" "$3"
}

# begun FILE: pages that cachestat(2) counts, asked without our tools
begun() {
	perl -e 'open F, "<", $ARGV[0] or die $!;
		($range, $pages) = (pack("QQ", 0, 1 << 40), "\0" x 40);
		syscall(451, fileno F, $range, $pages, 0) == 0 or die $!;
		print unpack "Q", $pages' "$1"
}

# counted: what resident, or warm, tells in kv of $out
counted() {
	echo "$(value resident_pages)/$(value pages) $(value method) $status"
}

# disk NAME BLOCK MKFS...: a file system with such blocks, in NAME/, with 64 cold pages in NAME/f
disk() {
	disk_name=$1
	block=$2
	shift 2
	command -v "$1" >/dev/null || {
		skip "$disk_name" "needs $1"
		return 1
	}
	truncate -s 320M "$disk_name.img"
	if ! "$@" "$disk_name.img" >mkfs.out 2>&1 || ! mounted "$disk_name" -o loop "$disk_name.img"; then
		skip "$disk_name" "$(cat mkfs.out mount.err)"
		return 1
	fi
	f=$disk_name/f
	file "$f" 64
	"$pages" --evict "$f"
}

# state WANTED: 8 pages from 16 on are whole, and of the first 16 only a block is there: what
# mincore and cachestat see must be WANTED
# shellcheck disable=SC2317 # called by ok
state() {
	for _ in 1 2 3 4 5; do
		warm "$f" 16 8 64
		blocks "$f" 0 16
		state="$("$pages" "$f") $(begun "$f")"
		[ "$state" != "$1" ] || return 0
	done
	note "the state is $state, not $1"
	return 1
}

for how in "ext4 1024 mkfs.ext4 -q -b 1024" "ext4 2048 mkfs.ext4 -q -b 2048" \
	"ext2 1024 mkfs.ext2 -q -b 1024" "xfs 1024 mkfs.xfs -q -b size=1024" \
	"xfs 2048 mkfs.xfs -q -b size=2048"; do
	# shellcheck disable=SC2086 # words
	set -- $how
	name=$1 block=$2
	shift 2
	disk "$name-$block" "$block" "$@" || continue
	name="$name, blocks of $block"
	begun "$f" >/dev/null 2>&1 || {
		skip "$name" "needs cachestat(2)"
		continue
	}
	ok "$name: the state is as it should be" state "8/64 24"
	run "$resident" -f kv "$f"
	is "$name: only whole pages are in memory" "$(counted)" "8/64 mincore 0"
	is "$name: cachestat tells what is dirty" "$(value dirty_bytes)" $((16 * page))
	run "$resident" -f kv -p 0:$((18 * page)) "$f"
	is "$name: of a range, too" "$(counted)" "2/18 mincore 0"
	run "$BUILD/tests/enosys" cachestat -- "$resident" -f kv "$f"
	is "$name: as without cachestat" "$(counted)" "8/64 mincore 0"
	run env COLUMNS=66 "$resident" --map "$f"
	like "$name: the map" "$out" "*$(printf '%16s########%40s' '' '')*"
	run "$resident" -q --min=13% "$f"
	is "$name: --min does not count parts of pages" "$status" 2
	run "$warm_tool" --dry-run -f kv "$f"
	is "$name: warm would read the others" "$(value already_bytes) $status" "$((8 * page)) 0"
	ok "$name: the state is as it was" [ "$("$pages" "$f") $(begun "$f")" = "8/64 24" ]
	run as_nobody "$resident" -f kv "$f"
	is "$name: others are not told" "$(value unknown_files) $(value dirty_bytes) $status" "1  1"

	"$pages" --evict "$f"
	blocks "$f" 0 16
	is "$name: parts of pages alone" "$("$pages" "$f") $(begun "$f")" "0/64 16"
	run "$resident" -f kv "$f"
	is "$name: are nothing in memory" "$(counted)" "0/64 mincore 0"
	run "$warm_tool" --evict -f kv "$f"
	is "$name: and yet are evicted" "$status $(begun "$f")" "0 0"
	run "$resident" -f kv "$f"
	is "$name: then there is nothing" "$(counted)" "0/64 cachestat 0"
	blocks "$f" 0 64
	run "$warm_tool" -f kv "$f"
	is "$name: warm reads them" "$(value already_bytes) $(value read_bytes) $("$pages" "$f") $status" \
		"0 $((64 * page)) 64/64 0"
done

for how in "ext4 mkfs.ext4 -q -b $page" "xfs mkfs.xfs -q -b size=$page" "btrfs mkfs.btrfs -q"; do
	# shellcheck disable=SC2086 # words
	set -- $how
	name=$1
	shift
	disk "$name-page" "$page" "$@" || continue
	begun "$f" >/dev/null 2>&1 || {
		skip "$name" "needs cachestat(2)"
		continue
	}
	block=1024
	ok "$name, blocks of a page: a part of it brings all of it" state "24/64 24"
	run "$resident" -f kv "$f"
	is "$name, blocks of a page: cachestat tells all" "$(counted)" "24/64 cachestat 0"
done

note "what is not in the page cache"

for name in /sys/kernel/notes /proc/version /sys/kernel/mm/transparent_hugepage/enabled; do
	[ -r "$name" ] || {
		skip "$name" "is not there"
		continue
	}
	run "$resident" -f kv "$name"
	is "$name: nothing is known" "$(value files) $(value unknown_files) $(counted)" "1 1 / unknown 1"
	like "$name: why" "$err" "resident: $name: 1 of 1 files are not kept in the page cache (*sysfs)*"
done
if [ -r /sys/kernel/notes ]; then
	run "$resident" --min=0 /sys/kernel/notes
	is "whether --min holds there cannot be told" "$status" 3
fi

done_testing
