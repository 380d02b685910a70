#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm --evict: what it says has gone is gone, as mincore sees it, and what stayed has a reason
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/evict.sh
. "$(dirname "$0")/evict.sh"

already() {
	echo "$1" | cut -d ' ' -f 3
}

# evicts NAME "FIGURES" ARGUMENT...: where less was in memory than there should be, the kernel
# has reclaimed it: once more, from the last "hot" or "dirty" on
again=:
evicts() {
	evicts_name=$1
	evicts_wanted=$2
	shift 2
	for try in 1 2 3 4 5; do
		run "$warm" --evict -f kv "$@"
		evicts_got=$(figures)
		[ "$(already "$evicts_got")" != "$(already "$evicts_wanted")" ] || break
		$again
	done
	is "$evicts_name" "$evicts_got" "$evicts_wanted" || note "$err"
}

### What goes

file clean 9 100
size=$((9 * page + 100))
hot clean
evicts "a clean file" "1 $size $size $size 0 0 0 0 0" clean
is "mincore agrees" "$("$pages" clean)" 0/10
is "nothing is said" "$err" ""
again=:
evicts "once more: nothing was there" "1 $size 0 0 0 0 0 0 0" clean
again='warm clean 2 3 10'
$again
evicts "a file that is partly there" "1 $size $((3 * page)) $((3 * page)) 0 0 0 0 0" clean
is "mincore agrees" "$("$pages" clean)" 0/10

head -c $((40 * page + 7)) /dev/urandom >copy
dirty dirty 40 7
size=$((40 * page + 7))
evicts "a dirty file" "1 $size $size $size 0 0 0 0 0" dirty
is "mincore agrees" "$("$pages" dirty)" 0/41
ok "what was dirty is on disk" cmp -s dirty copy
for call in sync_file_range sync_file_range=NONE fdatasync; do
	dirty dirty 40 7
	run "$enosys" $call -- "$warm" --evict -f kv dirty
	is "a dirty file without $call" "$(figures)" "1 $size $size $size 0 0 0 0 0" || note "$err"
done

: >empty
evicts "an empty file" "1 0 0 0 0 0 0 0 0" empty
is "has no ratio" "$(value ratio)" ""
truncate -s 1T sparse
again="$pages --warm sparse 0 $((3 * page))"
$again
evicts "a sparse file of 1 TiB" "1 1099511627776 $((3 * page)) $((3 * page)) 0 0 0 0 0" sparse
rm sparse
again=:

mkdir tree
for name in $(seq 64); do file "tree/$name" 3 "$name"; done
hot tree/*
size=$((64 * 3 * page + 64 * 65 / 2))
evicts "64 files at a time" "64 $size $size $size 0 0 0 0 0" -j 64 tree
is "mincore agrees" "$(for name in tree/*; do "$pages" "$name"; done | sort | uniq -c | tr -s ' ')" " 64 0/4"
hot tree/*
evicts "a list, and globs" "2 $((6 * page + 96)) $((6 * page + 96)) $((6 * page + 96)) 0 0 0 0 0" \
	--include '[36]3' -T - <<-END
		tree
	END
is "only these went" "$("$pages" tree/33) $("$pages" tree/63) $("$pages" tree/3)" "0/4 0/4 4/4"

mkdir links
file links/one 8
for name in $(seq 40); do ln links/one "links/$name"; done
hot links/one
failures=
for try in $(seq 60); do
	hot links/one
	run "$warm" --evict -f kv -j 64 links
	# of a page that the kernel reclaims before us, nothing is told
	case "$(value files) $(($(value evicted_bytes) > 0)) $(value resident_bytes) $(value skipped_files) $status:$err" in
	"1 1 0 0 0:") ;;
	*) failures="$failures $(figures) $err" ;;
	esac
done
is "hard links, many at a time: one file, and nobody else uses it" "$failures" ""
hot links/one
run "$warm" --evict -f kv -j 64 --count-links links
is "each of them: it goes once" \
	"$(value files) $(value already_bytes) $(value evicted_bytes) $(value skipped_files) $status" \
	"41 $((8 * page)) $((8 * page)) 0 0"

### Ranges

file range 100
hot range
evicts "a range" "1 $((10 * page)) $((10 * page)) $((10 * page)) 0 0 0 0 0" \
	-p $((20 * page)):$((10 * page)) range
is "it alone has gone" "$("$pages" --map range)" "$(map_of range 0+20 30+70)"
hot range
evicts "a range that begins and ends within pages" \
	"1 $((4 * page + 30)) $((4 * page + 30)) $((4 * page)) 30 0 0 0 1 edge=30" \
	-p $((10 * page - 10)):$((4 * page + 30)) range
is "pages that hold more stay" "$("$pages" --map range)" "$(map_of range 0+10 14+86)"
like "it is said why" "$err" "warm: 30B (30 bytes) stayed in memory: *--range*"
hot range
evicts "within a page" "1 10 10 0 10 0 0 0 1 edge=10" -p 5:10 range
evicts "to the end" "1 $((page + 1)) $((page + 1)) $page 1 0 0 0 1 edge=1" \
	-p $((99 * page - 1)) range
is "the last page has gone" "$("$pages" --map range)" "$(map_of range 0+99)"
head -c $((3 * page + 5)) range >short
hot short
evicts "to an end within a page" "1 5 5 5 0 0 0 0 0" -p $((3 * page)):5 short
is "that page has gone" "$("$pages" --map short)" 1110

# large folios: of the size of the reads that made them, where the file system has them
file large 2048
hot large # by readahead, which makes them
run "$warm" --evict -f kv -p $((701 * page)):$((100 * page)) large
stayed=$(value resident_bytes)
note "$stayed of $((100 * page)) bytes are in folios that reach out"
is "a range within large folios: what stays is in folios that reach out of it" "$(figures)" \
	"1 $((100 * page)) $((100 * page)) $((100 * page - stayed)) $stayed 0 0 0 $((stayed > 0))$(
		[ "$stayed" -eq 0 ] || echo " ${root:+edge}${root:-unknown}=$stayed" | sed s/edge1/edge/)"
is "mincore agrees" "$("$pages" large)" "$((1948 + stayed / page))/2048"
is "nothing around has gone" "$("$pages" --map large | cut -c 1-701,802- | tr -d 1)" ""

### What stays

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	head -c $((5 * page + 1)) /dev/urandom >"$shm/file"
	size=$((5 * page + 1))
	evicts "tmpfs" "1 $size $size 0 $size 0 0 0 1 tmpfs=$size" "$shm/file"
	is "mincore agrees" "$("$pages" "$shm/file")" 6/6
	like "it is said why" "$err" "warm: * stayed in memory: *tmpfs*"
	hot clean
	evicts "tmpfs and a file that goes" "1 $size $size 0 $size 0 0 0 1 tmpfs=$size" \
		"$shm/file" clean
	is "which went" "$(value path 2) $(value resident_bytes 2)" "clean 0"
else
	skip "tmpfs" "needs a writable /dev/shm"
fi

size=$((9 * page + 100))
hot clean
hold open clean
evicts "a file that is open" "1 $size $size 0 $size $size 1 0 1" clean
is "it is left alone" "$("$pages" clean)" 10/10
is "and it is said who has it" "$err" \
	"warm: clean: left: process $held (holder) has it open or mapped; --force evicts it all the same"
evicts "with --force" "1 $size $size $size 0 0 0 0 0" --force clean
is "it goes" "$("$pages" clean)" 0/10
evicts "an open file of which nothing is in memory is no matter" "1 $size 0 0 0 0 0 0 0" clean
let_go

hot clean
hold use clean
evicts "a file that is mapped" "1 $size $size 0 $size $size 1 0 1" clean
is "it is said who has it" "$err" \
	"warm: clean: left: process $held (holder) has it open or mapped; --force evicts it all the same"
if [ "$root" ]; then
	evicts "with --force: but for the page that is mapped" \
		"1 $size $size $((size - page)) $page 0 0 0 1 mapped=$page" --force clean
else
	evicts "with --force: but for the page that is mapped, which is for root to know" \
		"1 $size $size $((size - page)) $page 0 0 0 1 unknown=$page" --force clean
fi
is "mincore agrees" "$("$pages" --map clean)" 1000000000
let_go
evicts "as soon as nobody uses it, it goes" "1 $size $page $page 0 0 0 0 0" clean

hot clean
hold lock clean
[ "$root" ] && reason=locked || reason=unknown
evicts "a page that is locked" "1 $size $size $((size - page)) $page 0 0 0 1 $reason=$page" --force clean
let_go

# a large file, of which something stays here and there: that must not wear out its patience
spread() {
	for spread_at in 0 16 32 48 64 80 96 112 128 144; do
		for spread_page in 0 100; do
			"$pages" --warm sparse $(((spread_at << 20) + spread_page * page)) "$page"
		done
	done
}
truncate -s 160M sparse
hold spread sparse
again=spread
spread
"$pages" --evict sparse
spread
[ "$root" ] && reason=mapped || reason=unknown
evicts "a large file, a page mapped here and there" \
	"1 167772160 $((20 * page)) $((10 * page)) $((10 * page)) 0 0 0 1 $reason=$((10 * page))" --force sparse
if [ "$root" ]; then
	chown 65534 sparse
	spread
	run as_nobody "$warm" --evict --force -f kv sparse
	is "and by its owner, who is not told why" "$(figures)" \
		"1 167772160 $((20 * page)) $((10 * page)) $((10 * page)) 0 0 0 1 unknown=$((10 * page))"
fi
let_go
rm sparse

hot clean dirty
hold use clean use dirty
other=$held
hot tree/*
hold many tree
run "$warm" --evict -f kv clean dirty tree
is "many that are in use: all are counted" "$(value skipped_files 3)" 64
like "the first are named, and each of their processes" "$err" "*clean: left: process $other (holder)*dirty: left: process $other (*tree/*: left: process $held (*more files were left*"
is "32 of them" "$(printf '%s\n' "$err" | wc -l)" 33
let_go
held=$other
let_go

hot clean
run "$warm" --evict -f kv clean clean clean
is "a file that is given again and again: it goes once, and nobody else uses it" \
	"$(printf '%s\n' "$out" | awk -F = '/^(evicted|resident|skipped)_/ { sum[$1] += $2 }
		END { print sum["evicted_bytes"], sum["resident_bytes"], sum["skipped_files"] }') $status" \
	"$size 0 0 0"

cp "$holder" program
hot program
holder=./program
hold open clean
holder=$TMP/holder
run "$warm" --evict -f kv program
is "a program that runs" "$status $(value skipped_files) $err" \
	"1 1 warm: program: left: process $held (program) has it open or mapped; --force evicts it all the same"
let_go
"$warm" --evict -q program clean >program.out
is "and one that does not" "$("$pages" program | cut -d / -f 1)" 0

# what others do to the file meanwhile changes figures, but not that they add up
dirty busy 40
hold open busy
(while :; do cat busy; dd if=copy of=busy bs="$page" count=20 conv=notrunc status=none; done) >/dev/null 2>&1 &
writer=$!
on_exit "kill $writer 2>/dev/null"
wrong=
for try in $(seq 40); do
	run "$warm" --evict --force -f kv busy
	sum=$(printf '%s\n' "$out" | awk -F = '
		/^(mapped|locked|dirty|tmpfs|edge|unknown|skipped)_bytes/ { sum += $2 } END { print sum + 0 }')
	stayed=$(value resident_bytes)
	[ "$sum" = "$stayed" ] && [ $(($(value already_bytes) - $(value evicted_bytes))) -le "$stayed" ] &&
		[ "$status" = $((stayed > 0)) ] || wrong="$wrong $(figures)"
done
kill $writer
is "a file that is read and written meanwhile" "$wrong" ""
let_go

### What fails

evicts "a missing file" "        2" missing
is "it is said" "$err" "warm: missing: No such file or directory"
hot clean
evicts "a missing file among others" "1 $size $size $size 0 0 0 0 1" missing clean
hot clean
for call in fadvise64=EIO mincore; do
	run "$enosys" $call -- "$warm" --evict -f kv clean
	like "$call is an error" "$status:$err" "[12]:warm: clean: *"
done
dirty dirty 10
run "$enosys" sync_file_range=EIO -- "$warm" --evict -f kv dirty
like "what cannot be written back is an error" "$status:$err" \
	"1:warm: dirty: cannot be written back or dropped: I/O error*"
is "and stays" "$(value already_bytes) $(value evicted_bytes) $(value resident_bytes) $(value dirty_bytes)" \
	"$((10 * page)) 0 $((10 * page)) $((10 * page))"
is "mincore agrees" "$("$pages" dirty)" 10/10
for wrong in "--evict --min 5 clean" "--evict --budget 1G clean" "--force clean" --evict; do
	# shellcheck disable=SC2086 # words
	run "$warm" $wrong
	is "$wrong is a mistake" "$status:$out" 3:
done
hot clean
for format in tsv json prom text; do
	run "$warm" --evict -f $format clean
	is "-f $format" "$status:$err" 0:
done
run "$warm" --evict -f prom clean
like "prom has names of its own" "$out" "*hotset_warm_evict_resident_bytes{path=\"clean\"} 0*"
if command -v promtool >/dev/null; then
	ok "promtool agrees" promtool check metrics <"$TMP/.out"
fi

if [ "$root" ]; then
	chown 65534 clean
	hot clean
	around="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
	run as_nobody "$warm" --evict -f kv clean
	is "the owner needs no privilege" "$(figures)" "1 $size $size $size 0 0 0 0 0"
	head -c $size copy | as_nobody dd of=clean conv=notrunc status=none
	run as_nobody "$warm" --evict -f kv -p 3:$((2 * page)) clean
	is "and knows of pages that it asks for in part" "$(figures)" \
		"1 $((2 * page)) $((2 * page)) $page $page 0 0 0 1 edge=$page"
	as_nobody sh -c "head -c $((3 * page)) copy >own"
	run as_nobody "$enosys" sync_file_range=EIO -- "$warm" --evict -f kv own
	is "and of dirty ones" "$(value dirty_bytes) $(value resident_bytes)" \
		"$((3 * page)) $((3 * page))"
	hold use clean
	hot clean
	run as_nobody "$warm" --evict -f kv clean
	is "its own process is named" "$status $err" \
		"1 warm: clean: left: process $held (holder) has it open or mapped; --force evicts it all the same"
	run as_nobody "$warm" --evict --force -f kv clean
	is "what is mapped stays, and why is not known" "$(figures)" \
		"1 $size $size $((size - page)) $page 0 0 0 1 unknown=$page"
	let_go
	around=
	hold open clean
	hot clean
	run as_nobody "$warm" --evict -f kv clean
	like "a process of another is not seen, but noticed" "$(figures) $err" \
		"1 $size $size 0 $size $size 1 0 1 warm: clean: left: it is open or mapped, by a process that we cannot see *"
	let_go
	chown 0 clean
	chmod 666 clean
	hot clean
	run as_nobody "$warm" --evict -f kv clean
	like "a file of another: it cannot be told who uses it" "$(figures) $err" \
		"1 $size $size 0 $size $size 1 0 1 warm: clean: left: cannot tell whether *CAP_LEASE*"
	run as_nobody "$warm" --evict --force -f kv clean
	is "with --force it goes" "$(figures)" "1 $size $size $size 0 0 0 0 0"
	chmod 644 clean
	hot clean
	run as_nobody "$warm" --evict -f kv clean
	is "nor may it be measured" "$(figures)" "1      1 1 1"
	is "it is left" "$("$pages" clean)" 10/10
	run as_nobody "$warm" --evict --force -f kv clean
	is "with --force: nothing is claimed" "$(figures)" "1      0 1 1"
	is "though it went" "$("$pages" clean)" 0/10
	chmod 600 clean
	run as_nobody "$warm" --evict -f kv clean
	is "a file that may not be read" "$status:$out:$err" "2::warm: clean: Permission denied"
	hot clean
	run setpriv --bounding-set=-lease --inh-caps=-lease "$warm" --evict -f kv dirty
	is "root without CAP_LEASE is the owner" "$(value skipped_files)" 0
	# a container may hide its first process from root
	if cat /proc/1/maps >/dev/null 2>&1; then
		chown 65534 clean
		run setpriv --bounding-set=-lease --inh-caps=-lease "$warm" --evict -f kv clean
		is "else looks through the processes" "$(figures)" "1 $size $size $size 0 0 0 0 0" || note "$err"
		hot clean
		hold use clean
		run setpriv --bounding-set=-lease --inh-caps=-lease "$warm" --evict -f kv clean
		is "and finds them" "$status $err" \
			"1 warm: clean: left: process $held (holder) has it open or mapped; --force evicts it all the same"
		let_go
	else
		skip "a look through the processes" "needs to see all of them"
	fi
	chown 0 clean
else
	skip "files of others" "needs root"
fi

### Stopping

mkfifo names
sleep 30 >names &
writer=$!
on_exit "kill $writer 2>/dev/null"
wanted="1 $size $size $size 0 0 0 0 130"
for try in 1 2 3 4 5; do # the machine may be too busy for it to begin
	hot clean
	echo clean >names &
	"$warm" --evict -f kv -T names >"$TMP/.out" 2>"$TMP/.err" &
	pid=$!
	sleep "0.$((4 + try))"
	ignored=$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/$pid/status)
	kill -INT $pid
	status=0
	wait $pid || status=$?
	out=$(cat "$TMP/.out")
	[ "$(figures)" != "$wanted" ] || break
done
is "SIGINT ends it, with the figures until then" "$(figures)" "$wanted"
# the kernel sends it where somebody opens a file while we ask who uses it (SIGIO is 29)
is "SIGIO does not" "$(((0x${ignored:-0} >> 28) & 1))" 1
hot clean
echo clean >names &
evicts "the time limit too" "1 $size $size $size 0 0 0 0 1" -t 0.5 -T names
kill $writer

### File systems

if [ -z "$root" ]; then
	skip "file systems, devices and hitratio" "needs root"
	done_testing
fi

# on_disk FILE: what must hold on each file system; it is in use by $held then
on_disk() {
	kind=${1%%/*}
	dirty "$1" 30 9
	disk_size=$((30 * page + 9))
	evicts "$kind: a dirty file" "1 $disk_size $disk_size $disk_size 0 0 0 0 0" "$1"
	is "$kind: mincore agrees" "$("$pages" "$1")" 0/31
	ok "$kind: what was dirty is on disk" cmp -s -n $disk_size "$1" copy
	hot "$1"
	hold use "$1"
	evicts "$kind: a file in use" "1 $disk_size $disk_size 0 $disk_size $disk_size 1 0 1" "$1"
	is "$kind: by whom" "$err" \
		"warm: $1: left: process $held (holder) has it open or mapped; --force evicts it all the same"
	"$pages" --evict "$1"
	again="$pages --warm $1 0 $disk_size" # page by page: no large folio
	$again
	evicts "$kind: all but the mapped page" \
		"1 $disk_size $disk_size $((disk_size - page)) $page 0 0 0 1 mapped=$page" --force "$1"
	let_go
}

disk ext4 '-b 4096'
disk xfs ''
disk btrfs ''

# blocks smaller than a page: of a page that holds only the first of them mincore knows nothing
truncate -s 16M small.img
if mkfs.ext4 -q -b 1024 small.img >mkfs.out 2>&1 && mounted small -o loop small.img; then
	dirty small/file 0 9
	is "a page that mincore does not count" "$("$pages" small/file)" 0/1
	evicts "is dropped even so" "1 9 0 0 0 0 0 0 0" small/file
	run "$resident" -f kv small/file
	is "as cachestat sees it" "$(value resident_pages) $(value dirty_bytes)" "0 0"
else
	skip "small blocks" "$(cat mkfs.out mount.err)"
fi

mkdir lower upper work
file lower/low 8
if mounted over -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay; then
	hot over/low
	evicts "overlay: nobody can tell" "1 $((8 * page)) $((8 * page)) 0 $((8 * page)) $((8 * page)) 1 0 1" over/low
	like "it is said why" "$err" "warm: over/low: left: cannot tell *overlayfs*"
	hold open lower/low
	evicts "overlay: with --force it goes, whoever uses it below" \
		"1 $((8 * page)) $((8 * page)) $((8 * page)) 0 0 0 0 0" --force over/low
	let_go
	hold open over/low
	hot lower/low
	evicts "a layer that is open through the overlay" \
		"1 $((8 * page)) $((8 * page)) 0 $((8 * page)) $((8 * page)) 1 0 1" lower/low
	let_go
	hold open over/low
	evicts "overlay: a file that is open there" \
		"1 $((8 * page)) $((8 * page)) 0 $((8 * page)) $((8 * page)) 1 0 1" over/low
	like "by whom" "$err" "warm: over/low: left: process $held (holder) *"
	let_go
	dirty over/up 8
	evicts "overlay: a dirty file" "1 $((8 * page)) $((8 * page)) $((8 * page)) 0 0 0 0 0" --force over/up
	is "mincore agrees" "$("$pages" over/up)" 0/8
else
	skip "overlay" "$(cat mount.err)"
fi

# a loop device on a full file system: writing back fails in earnest
if mounted full -t tmpfs -o size=3M none && truncate -s 32M full/img &&
	mkfs.ext4 -q -O ^has_journal full/img >mkfs.out 2>&1 && mounted failing -o loop full/img; then
	head -c 8M /dev/urandom >failing/file
	run "$warm" --evict -f kv failing/file
	like "a disk that fails" "$status $(value failed_files) $err" \
		"1 1 warm: failing/file: cannot be written back or dropped: *"
	is "no byte is claimed twice" "$(($(value evicted_bytes) + $(value resident_bytes)))" 8388608
else
	skip "a disk that fails" "$(cat mkfs.out mount.err)"
fi

truncate -s 1M raw.img
if device=$(losetup -f --show raw.img 2>mount.err); then
	on_exit "losetup -d $device"
	exec 9<"$device" # the page cache of a device goes when nobody has it open
	hot_bytes=$((5 * page))
	again="$pages --warm $device 0 $hot_bytes"
	$again
	evicts "a block device" "1 1048576 $hot_bytes 0 $hot_bytes $hot_bytes 1 0 1" "$device"
	like "it is said why" "$err" "warm: $device: left: a block device *"
	evicts "with --force" "1 1048576 $hot_bytes $hot_bytes 0 0 0 0 0" --force "$device"
	exec 9<&-
	hot raw.img
	evicts "what the kernel uses: a loop device" "1 1048576 1048576 0 1048576 1048576 1 0 1" raw.img
	like "it is said why" "$err" "warm: raw.img: left: *loop device*"
else
	skip "block devices" "$(cat mount.err)"
fi

### What reads then cost

hitratio=$BUILD/hitratio
misses() {
	"$hitratio" -f kv -o kv -- cat "$@" >/dev/null 2>hitratio.err && sed -n "s/^misses=//p" kv
}
file thousand 1000
if misses clean >/dev/null; then
	for try in 1 2 3 4 5; do
		hot thousand clean
		none=$(misses thousand)
		run "$warm" --evict -f kv thousand
		all=$(misses thousand)
		[ "$((all - none))" -ne 1000 ] || break
	done
	is "each page of what was evicted is a miss" "$((all - none)) $none" "1000 0"
else
	skip "hitratio" "$(cat hitratio.err)"
fi

done_testing
