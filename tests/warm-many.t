#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm, many small files: they are loaded together, and each one's figures are its own
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"

cp "$BUILD/warm" "$TMP"
warm_tool=$TMP/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# rows ARGUMENT...: of each file: name, bytes, already, read, in memory, skipped; and the status
rows() {
	run "$warm_tool" -v -f tsv "$@"
	printf '%s\n' "$out" | awk -F '\t' 'NR > 1 && $1 ~ "/" { print $1, $3, $4, $5, $6, $8 }' | sort
	echo "status $status"
}

# states PAGES...: of the files of mix/, in their order, as mincore sees them
states() {
	for name in mix/*; do "$pages" "$name"; done | paste -s -d ' '
}

### Each in its own state

mkdir mix
file mix/cold 3 100
file mix/half 8
file mix/hot 5
: >mix/empty
file mix/large 300 1 # not a small one
file mix/most 256    # the largest that is
head -c 1 /dev/zero >mix/tiny
truncate -s $((6 * page)) mix/hole

# mixed: the state that the names say; the kernel may undo it
mixed() {
	for try in 1 2 3 4 5; do
		for name in mix/*; do "$pages" --evict "$name"; done
		"$pages" --warm mix/half $((2 * page)) $((3 * page))
		cat mix/hot >/dev/null
		[ "$(states)" = "0/4 0/0 3/8 0/6 5/5 0/301 0/256 0/1" ] && return 0
	done
	note "not set up in $try tries: $(states)"
}

mixed
is "what is missing of each is read, and no more" "$(rows mix)" \
	"mix/cold $((3 * page + 100)) 0 $((3 * page + 100)) $((3 * page + 100)) 0
mix/empty 0 0 0 0 0
mix/half $((8 * page)) $((3 * page)) $((5 * page)) $((8 * page)) 0
mix/hole $((6 * page)) 0 $((6 * page)) $((6 * page)) 0
mix/hot $((5 * page)) $((5 * page)) 0 $((5 * page)) 0
mix/large $((300 * page + 1)) 0 $((300 * page + 1)) $((300 * page + 1)) 0
mix/most $((256 * page)) 0 $((256 * page)) $((256 * page)) 0
mix/tiny 1 0 1 1 0
status 0"
is "mincore agrees" "$(states)" "4/4 0/0 8/8 6/6 5/5 301/301 256/256 1/1"
mixed
run "$warm_tool" mix
is "nothing is said" "$err" ""

for call in readahead cachestat=EPERM 'readahead sendfile'; do
	mixed
	# shellcheck disable=SC2086 # several calls
	run "$enosys" $call -- "$warm_tool" -f kv mix
	is "without $call" "$(value already_bytes) $(value read_bytes) $status $(states)" \
		"$((8 * page)) $((570 * page + 102)) 0 4/4 0/0 8/8 6/6 5/5 301/301 256/256 1/1"
done

mixed
run "$enosys" pread64=EIO preadv=EIO sendfile=EIO -- "$warm_tool" -f kv mix/cold mix/half mix/hot
is "a read that fails is an error, and only what came counts" \
	"$(value failed_files 1) $(value failed_files 2) $(value failed_files 3) $status" "1 1 0 1"
like "and it is said of which" "$err" "warm: mix/cold: I/O error
warm: mix/half: I/O error"

mixed
is "a range is not what is around it" "$(rows -p "$page:$page" mix/cold mix >/dev/null; states)" \
	"1/4 0/0 4/8 1/6 5/5 1/301 1/256 0/1"

### The budget

mkdir few
for name in a b c d; do file few/$name 10; done
printf '%s\n' few/a few/b few/c few/d >list
for try in 1 2 3 4 5; do
	for name in few/*; do "$pages" --evict "$name"; done
	"$pages" --warm few/c 0 $((7 * page))
	[ "$("$pages" few/a) $("$pages" few/c)" != "0/10 7/10" ] || break
done
is "the first come first, and what does not fit is not started" \
	"$(rows -j 1 --budget $((14 * page)) -T list)" \
	"few/a $((10 * page)) 0 $((10 * page)) $((10 * page)) 0
few/b $((10 * page)) 0 0 0 $((10 * page))
few/c $((10 * page)) $((7 * page)) $((3 * page)) $((10 * page)) 0
few/d $((10 * page)) 0 0 0 $((10 * page))
status 1"
is "mincore agrees ($try tries)" \
	"$(for name in few/*; do "$pages" "$name"; done | paste -s -d ' ')" "10/10 0/10 10/10 0/10"

file apart 40
i=0
while [ $i -lt 20 ]; do
	printf '%d:2\tapart\n' $((2 * i * page + page - 1))
	i=$((i + 1))
done >ranges
run "$warm_tool" -f kv --ranges --budget $((22 * page)) -T ranges
is "bytes on both sides of a page's end take two pages of it" \
	"$(value size_bytes) $(value read_bytes) $(value skipped_bytes) $status $("$pages" apart)" \
	"40 22 18 1 22/40"

### Several names

mkdir links others
file links/0 100
i=0
while [ $i -lt 99 ]; do
	i=$((i + 1))
	ln links/0 links/$i
done
for name in a b c d; do file others/$name 100; done
cold_links() {
	for name in links/0 others/*; do "$pages" --evict "$name"; done
}
cold_links
run "$warm_tool" -f kv -j 4 --budget $((520 * page)) links others
is "a file of a hundred names takes its pages from the budget once" \
	"$(value files) $(value read_bytes) $(value files 2) $(value skipped_bytes 2) $status" \
	"1 $((100 * page)) 4 0 0"
cold_links
run "$warm_tool" -f kv -j 1 --count-links links
is "--count-links: it is read once even so" \
	"$(value files) $(value read_bytes) $(value already_bytes) $status" \
	"100 $((100 * page)) $((9900 * page)) 0"
file big 800
ln big big1
ln big big2
ln big big3
wrong=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	"$pages" --evict big
	run "$warm_tool" -f kv --budget $((800 * page)) --min 99 big big1 big2 big3
	[ "$(value resident_bytes) $status" = "$((800 * page)) 0" ] || wrong=$((wrong + 1))
done
is "names that are loaded at the same time: one result" $wrong 0

### Very many

mkdir lots lots/x lots/y
i=0
while [ $i -lt 700 ]; do
	i=$((i + 1))
	head -c $((i * 40)) /dev/zero >lots/$((i % 3))$i
	echo $i >lots/x/$i
done
# evict FOLDER: all files below it
evict() {
	find "$1" -type f | while read -r name; do "$pages" --evict "$name"; done
}
# whole FOLDER: how many files below it are all in memory
whole() {
	find "$1" -type f | while read -r name; do "$pages" "$name"; done |
		awk -F / '$1 == $2 { n++ } END { print n + 0 }'
}
bytes=$(find lots -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
for jobs in 1 2 40; do
	# the kernel may take a page before we have looked: that is not warm's doing
	for try in 1 2 3; do
		evict lots
		run "$warm_tool" -f kv -j $jobs lots
		there=$(whole lots)
		[ "$there" -ne 1400 ] || break
	done
	is "-j $jobs: 1400 files" "$(value files) $(value size_bytes) $(value resident_bytes) $status" \
		"1400 $bytes $bytes 0"
	is "-j $jobs: mincore agrees ($try tries)" "$there" 1400
done
for try in 1 2 3; do
	evict lots
	run sh -c 'ulimit -n 30; exec "$@"' sh "$warm_tool" -f kv -j 2 lots
	there=$(whole lots)
	[ "$there" -ne 1400 ] || break
done
is "few files may be open at a time" "$(value files) $(value failed_files) $status:$err" "1400 0 0:"
is "few files: mincore agrees ($try tries)" "$there" 1400
run "$enosys" openat=EMFILE -- "$warm_tool" -f kv lots/11
is "no file can be opened" "$status" 2
like "the limit is named" "$err" "*too many open files: raise the limit (ulimit -n)*"

### Files that change underneath

mkdir moving
(
	while [ -d moving ]; do
		for name in 1 2 3 4 5 6 7 8; do
			head -c $((name * 3000)) /dev/zero >moving/$name
			: >moving/$((9 - name))
			echo x >moving/new && mv moving/new moving/$name
			rm -f moving/$((9 - name))
		done
	done 2>/dev/null
) &
mover=$!
on_exit "kill $mover 2>/dev/null"
worst=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	run timeout 20 "$warm_tool" -f kv moving
	[ $status -le $worst ] || worst=$status
	[ "$(value resident_bytes)" -le "$(value size_bytes)" ] || worst=99
done
ok "truncated, replaced and removed meanwhile: no crash, no hang, nothing but \"in part\"" \
	[ $worst -le 1 ]
mv moving gone
wait $mover

### In the order of the disk

tracing=/sys/kernel/tracing/instances/hotset.$$
if [ "$(id -u)" -ne 0 ] || ! command -v mkfs.ext4 >/dev/null ||
	! command -v filefrag >/dev/null; then
	skip "a disk that seeks" "needs root, mkfs.ext4 and filefrag"
elif ! mkdir "$tracing" 2>/dev/null; then
	skip "a disk that seeks" "needs tracefs"
else
	on_exit "rmdir $tracing"
	truncate -s 64M "$TMP/disk"
	mkfs.ext4 -qF -E lazy_itable_init=0 "$TMP/disk"
	mkdir "$TMP/mnt"
	loop=$(losetup -f --show "$TMP/disk")
	on_exit "losetup -d $loop"
	mount "$loop" "$TMP/mnt"
	on_exit "umount $TMP/mnt"
	queue=/sys/block/${loop#/dev/}/queue
	rotational=$(cat "$queue"/rotational)
	on_exit "echo $rotational >$queue/rotational; echo 0 >$queue/nomerges"
	echo 2 >"$queue"/nomerges
	mkdir "$TMP/mnt/f"
	names="01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20"
	for name in $names; do : >"$TMP/mnt/f/$name"; done
	sync -f "$TMP/mnt"
	# the later the inode, the nearer to the start of the disk
	for name in $(echo "$names" | tr ' ' '\n' | sort -r); do
		head -c $((2 * page)) /dev/urandom >"$TMP/mnt/f/$name"
		sync "$TMP/mnt/f/$name"
	done
	echo "dev == $((0x$(stat -c %t "$loop") * 1048576 + 0x$(stat -c %T "$loop")))" \
		>$tracing/events/block/block_rq_issue/filter
	# places: where the files begin, in the order of their inodes
	places() {
		for name in $names; do
			filefrag -e -b512 "$TMP/mnt/f/$name" |
				sed -n 's/^ *0: *0\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p'
		done
	}
	# sectors: what the device was asked for
	sectors() {
		evict "$TMP/mnt/f"
		echo >$tracing/trace
		echo 1 >$tracing/events/block/block_rq_issue/enable
		run "$warm_tool" -f kv -j 1 "$TMP/mnt/f"
		echo 0 >$tracing/events/block/block_rq_issue/enable
		sed -n 's/.*block_rq_issue: [0-9,]* R[A-Z]* [0-9]* ([^)]*) \([0-9]*\) + .*/\1/p' \
			$tracing/trace
	}
	echo none >"$queue"/scheduler
	echo 0 >"$queue"/rotational
	is "files are asked for in the order of their inodes" "$(sectors)" "$(places)"
	echo 1 >"$queue"/rotational
	is "where the disk seeks, in their order on it" "$(sectors)" "$(places | sort -n)"
	isnt=$(places | sort -n -c 2>&1)
	ok "which is another" [ -n "$isnt" ]
fi

### What reads then cost

# misses FILE...: page cache misses of a cat of these, its own start included
misses() {
	"$BUILD/hitratio" -f kv -o "$TMP/kv" -- cat "$@" >/dev/null 2>"$TMP/hitratio.err" &&
		sed -n 's/^misses=//p' "$TMP/kv"
}
if misses mix/hot >/dev/null; then
	for try in 1 2 3 4 5; do
		mixed
		cold=$(misses mix/*)
		mixed
		run "$warm_tool" mix
		warmed=$(misses mix/*)
		[ "$cold:$warmed" != 573:0 ] || break
	done
	is "after warm a read misses nothing, of what it would have missed" "$cold:$warmed" 573:0
else
	skip "hitratio" "$(cat "$TMP/hitratio.err")"
fi

done_testing
