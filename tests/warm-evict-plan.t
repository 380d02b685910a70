#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm --evict --dry-run: what it says would go goes afterwards, and until then nothing changes
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/evict.sh
. "$(dirname "$0")/evict.sh"

# state FILE...: which pages are in memory, and what is dirty, as far as the kernel tells
state() {
	for state_file; do
		echo "$state_file $("$pages" --map "$state_file")"
	done
	"$resident" -v -f tsv --columns=path,dirty_bytes,writeback_bytes "$@" 2>/dev/null
}

# Anything but a look is an error: then the file counts as failed.
watched="$enosys fadvise64=EIO sync_file_range=EIO fdatasync=EIO fsync=EIO readahead=EIO --"

# plans NAME "FIGURES" "FILE..." ARGUMENT...: a dry run comes to these figures, and leaves the files
# as they are. What the kernel has reclaimed or written back meanwhile: once more, from the last
# "hot" or "dirty" on
again=:
plans() {
	plans_name=$1 plans_wanted=$2 plans_files=$3
	shift 3
	for try in 1 2 3 4 5; do
		# shellcheck disable=SC2086 # words
		plans_before=$(state $plans_files)
		# shellcheck disable=SC2086
		run $around $watched "$warm" --evict --dry-run -f kv "$@"
		# shellcheck disable=SC2086
		plans_after=$(state $plans_files)
		plans_got=$(figures)
		[ "$plans_got$plans_before" != "$plans_wanted$plans_after" ] || break
		$again
	done
	is "$plans_name" "$plans_got" "$plans_wanted" || note "$err"
	is "$plans_name: all is as it was" "$plans_after" "$plans_before"
}

# stays: of what there was, the bytes that would stay, by the last dry run; each reason for it, and
# the exit status
stays() {
	stays_sum=0
	for stays_reason in mapped locked tmpfs edge skipped; do
		stays_sum=$((stays_sum + $(value ${stays_reason}_bytes)))
	done
	echo "$stays_sum $(value mapped_bytes) $(value locked_bytes) $(value tmpfs_bytes)" \
		"$(value edge_bytes) $(value skipped_bytes) $(value skipped_files) $status"
}

# goes NAME ARGUMENT...: a real run drops all but what the last dry run said would stay, for the
# same reasons
goes() {
	goes_name=$1
	shift
	goes_planned=$(stays)
	# shellcheck disable=SC2086 # words
	run $around "$warm" --evict -f kv "$@"
	goes_stayed=$(($(value already_bytes) - $(value evicted_bytes)))
	is "$goes_name: and so it is" "$goes_stayed $(stays | cut -d ' ' -f 2-)" "$goes_planned"
}

# human BYTES: whole KiB, as the messages have them
human() {
	[ "$1" -ge 10240 ] && echo "$(($1 / 1024))K ($1 bytes)" || echo "$(($1 / 1024)).0K ($1 bytes)"
}

### What would go

file clean 8
size=$((8 * page))
hot clean
plans "a clean file" "1 $size $size 0 $size 0 0 0 0" clean clean
is "the sum is told" "$err" "warm: a dry run: $(human $size) would be dropped"
goes "a clean file" clean
is "mincore agrees" "$("$pages" clean)" 0/8
hot clean
touch -a -d 2001-01-01 clean
run "$warm" --evict --dry-run clean
like "nor is it a read of the file" "$(stat -c %x clean)" "2001-01-01 *"
"$pages" --evict clean
again=:
plans "nothing is there" "1 $size 0 0 0 0 0 0 0" clean clean
is "that is told" "$err" "warm: a dry run: 0B (0 bytes) would be dropped"
again='warm clean 2 3 8'
$again
plans "a file that is partly there" "1 $size $((3 * page)) 0 $((3 * page)) 0 0 0 0" clean clean
goes "a file that is partly there" clean

head -c $((256 * page)) /dev/urandom >copy
dirty dirty 40
size=$((40 * page))
plans "a dirty file" "1 $size $size 0 $size 0 0 0 0 dirty=$size" dirty dirty
is "it is told that it would be written back" "$err" \
	"warm: a dry run: $(human $size) would be dropped, $(human $size) of them once written back"
goes "a dirty file" dirty

mkdir tree
for name in $(seq 64); do file "tree/$name" 3; done
size=$((64 * 3 * page))
hot tree/*
plans "64 files at a time" "64 $size $size 0 $size 0 0 0 0" "$(echo tree/*)" -j 64 tree
goes "64 files at a time" -j 64 tree
mkdir links
file links/one 8
for name in $(seq 40); do ln links/one "links/$name"; done
hot links/one
plans "hard links: one file" "1 $((8 * page)) $((8 * page)) 0 $((8 * page)) 0 0 0 0" links/one -j 64 links

### Ranges

file range 100
hot range
plans "a range that begins and ends within pages" \
	"1 $((4 * page + 30)) $((4 * page + 30)) 0 $((4 * page + 30)) 0 0 0 1${root:+ edge=30}$(
		[ "$root" ] || echo " edge=30 unknown=$((4 * page))")" \
	range -p $((10 * page - 10)):$((4 * page + 30)) range
like "it is told why" "$err" "*warm: 30B (30 bytes) would stay in memory: *--range*"
file large 2048
hot large # by readahead, which makes large folios, where the file system has them
run "$warm" --evict --dry-run -f kv -p $((701 * page)):$((100 * page)) large
if [ "$root" ]; then
	note "$(value edge_bytes) of $((100 * page)) bytes are in folios that reach out"
	is "a range within large folios: all has been told" "$(value unknown_bytes)" 0
	goes "a range within large folios" -p $((701 * page)):$((100 * page)) large
	rm -f dirty
	dd if=copy of=dirty bs=1M status=none # at once, which makes them
	run "$warm" --evict --dry-run -f kv -p $((3 * page)):$((200 * page)) dirty
	note "$(value edge_bytes) of $((200 * page)) bytes are in folios that reach out"
	is "of large folios that are dirty, too" "$(($(value dirty_bytes) + $(value edge_bytes)))" $((200 * page))
	goes "a range within large folios that are dirty" -p $((3 * page)):$((200 * page)) dirty
else
	is "how large folios are is not told" "$status $(value unknown_bytes)" "1 $((100 * page))"
fi

### What would stay

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	head -c $((5 * page)) /dev/urandom >"$shm/file"
	size=$((5 * page))
	plans "tmpfs" "1 $size $size 0 $size 0 0 0 1 tmpfs=$size" "$shm/file" "$shm/file"
	is "it is told why" "$err" "warm: a dry run: 0B (0 bytes) would be dropped
warm: $(human $size) would stay in memory: memory is where tmpfs and ramfs keep their files"
	goes "tmpfs" "$shm/file"
else
	skip "tmpfs" "needs a writable /dev/shm"
fi

size=$((8 * page))
hot clean
hold open clean
plans "a file that is open" "1 $size $size 0 $size $size 1 0 1" clean clean
is "it is told who has it" "$err" "warm: a dry run: 0B (0 bytes) would be dropped
warm: clean: would be left: process $held (holder) has it open or mapped; --force evicts it all the same"
goes "a file that is open" clean
if [ "$root" ]; then
	plans "with --force it would go" "1 $size $size 0 $size 0 0 0 0" clean --force clean
	goes "with --force" --force clean
else
	plans "with --force it may go, if no page is mapped" "1 $size $size 0 $size 0 0 0 1 unknown=$size" \
		clean --force clean
	like "that is told" "$err" "*bytes) may stay in memory: *root*"
fi
let_go

for do in use lock; do
	[ $do = use ] && reason=mapped || reason=locked
	hot clean
	hold $do clean
	plans "a file that is $reason" "1 $size $size 0 $size $size 1 0 1" clean clean
	if [ "$root" ]; then
		plans "with --force: but for the page that is $reason" \
			"1 $size $size 0 $size 0 0 0 1 $reason=$page" clean --force clean
		is "it is told why" "$err" "warm: a dry run: $(human $((size - page))) would be dropped
warm: $(human "$page") would stay in memory: a process has them $reason"
		goes "a file that is $reason" --force clean
	else
		plans "with --force: which page is $reason is not told" \
			"1 $size $size 0 $size 0 0 0 1 unknown=$size" clean --force clean
	fi
	let_go
done

if [ "$root" ]; then
	rm dirty
	dd if=copy of=dirty bs="$page" count=40 status=none # page by page: no large folio
	again=:
	hold use dirty
	plans "a dirty file, of which a page is mapped" \
		"1 $((40 * page)) $((40 * page)) 0 $((40 * page)) 0 0 0 1 mapped=$page dirty=$((39 * page))" \
		dirty --force dirty
	let_go
fi

hot clean
hot tree/*
hold many tree
run "$warm" --evict --dry-run -f kv clean tree
is "many that are in use: all are counted, of each operand" \
	"$(value skipped_files) $(value skipped_files 2) $(value skipped_bytes 2) $status" \
	"0 64 $((64 * 3 * page)) 1"
is "the first are named" "$(printf '%s\n' "$err" | grep -c ": would be left: process $held (holder)")" 32
like "the others are counted" "$err" "*warm: 32 more files would be left for such reasons"

# at any time, before or after it is known who has them open
wrong=
for limit in $(seq -f 0.%04g 5 5 200); do
	run "$warm" --evict --dry-run -j 1 -v -f tsv -t "$limit" tree
	wrong=$wrong$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) field[$i] = i; next }
		$field["path"] ~ "/" && $field["already_bytes"] != $field["skipped_bytes"] + $field["unknown_bytes"] { print; exit }' "$TMP/.out")
done
is "a stop: no byte of it is said to go" "$wrong" ""
let_go

### What fails

plans "a missing file" "        2" "" missing
hot clean
plans "a missing file among others" "1 $size $size 0 $size 0 0 0 1" clean missing clean
hot clean
run "$warm" --evict --dry-run -q -f kv clean
is "-q: no note" "$status:$err" 0:
for format in text tsv json prom; do
	run "$warm" --evict --dry-run -q -f $format clean
	is "-f $format" "$status:$err" 0:
done
for wrong in "--evict --dry-run --min 5 clean" "--dry-run --force clean" "--evict --dry-run"; do
	# shellcheck disable=SC2086 # words
	run "$warm" $wrong
	is "$wrong is a mistake" "$status:$out" 3:
done
mkfifo names
sleep 30 >names &
writer=$!
on_exit "kill $writer 2>/dev/null"
hot clean
echo clean >names &
run "$warm" --evict --dry-run -f kv -t 0.5 -T names
is "the time limit: with the figures until then" "$(figures)" "1 $size $size 0 $size 0 0 0 1"
kill $writer
is "all is as it was" "$("$pages" clean)" 8/8

### Who is told what

if [ -z "$root" ]; then
	skip "other users, devices and file systems" "needs root"
	done_testing
fi

around="setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin"
hot clean
plans "root in a container is told by who uses the file" "1 $size $size 0 $size 0 0 0 0" clean --force clean
dirty dirty 40
plans "and by cachestat what is dirty" \
	"1 $((40 * page)) $((40 * page)) 0 $((40 * page)) 0 0 0 0 dirty=$((40 * page))" dirty dirty
run $around "$enosys" sync_file_range=EIO -- "$warm" --evict -f kv dirty
is "so of what is dirty still" "$(value dirty_bytes) $(value resident_bytes)" "$((40 * page)) $((40 * page))"

chown 65534 clean
around="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
hot clean
plans "its owner is told without privilege" "1 $size $size 0 $size 0 0 0 0" clean clean
plans "also with --force, as nobody uses it" "1 $size $size 0 $size 0 0 0 0" clean --force clean
as_nobody dd if=copy of=clean bs="$page" count=2 conv=notrunc status=none
plans "also what is dirty" "1 $size $size 0 $size 0 0 0 0 dirty=$((2 * page))" clean clean
goes "by its owner" clean
hot clean
run as_nobody "$enosys" cachestat -- "$warm" --evict --dry-run -f kv clean
is "but not where cachestat is missing" "$(figures) $(value dirty_bytes)." "1 $size $size 0 $size 0 0 0 0 ."
like "that is told" "$err" "*bytes) would be dropped; which of them are dirty cannot be told"
run as_nobody "$enosys" cachestat -- "$warm" --evict --dry-run -q -f json clean
like "as null" "$out" '*"dirty_bytes":null,*'

file own 2048
chown 65534 own
again='warm own 0 2048 2048'
$again
plans "how far the folios of a range reach is not told: at its ends" \
	"1 $((2038 * page)) $((2038 * page)) 0 $((2038 * page)) 0 0 0 1 unknown=$((502 * page))" \
	own -p $((10 * page)) own

hold use clean
hot clean
plans "a file that is mapped" "1 $size $size 0 $size $size 1 0 1" clean clean
plans "with --force: which page is mapped is not told" \
	"1 $size $size 0 $size 0 0 0 1 unknown=$size" clean --force clean
let_go
chown 0 clean
chmod 666 clean
plans "a file of another: it cannot be told who uses it" "1 $size $size 0 $size $size 1 0 1" clean clean
like "why" "$err" "*warm: clean: would be left: cannot tell whether *CAP_LEASE*"
plans "with --force: it may go" "1 $size $size 0 $size 0 0 0 1 unknown=$size" clean --force clean
chmod 644 clean
plans "what the caller may not see is not planned" "1      1 1 1" clean clean
like "that is told" "$err" "*warm: a dry run: 0B (0 bytes) of what can be measured would be dropped*"
plans "nor with --force" "1      0 1 1" clean --force clean
around=

# heat: what use of the pages the kernel has noted
heat() {
	"$resident" -q --save=snap clean >/dev/null && grep '^in' snap
}
again='hot clean'
for try in 1 2 3 4 5; do
	$again
	before=$(heat)
	run "$warm" --evict --dry-run -f kv clean
	after=$(heat)
	[ "$before" != "$after" ] || break
done
is "the look is no use of the pages" "$after" "$before"

truncate -s 1M raw.img
if device=$(losetup -f --show raw.img 2>mount.err); then
	on_exit "losetup -d $device"
	exec 9<"$device" # the page cache of a device goes when nobody has it open
	size=$((5 * page))
	again="$pages --warm $device 0 $size"
	$again
	plans "a block device" "1 1048576 $size 0 $size $size 1 0 1" "$device" "$device"
	plans "with --force: what holds its pages is not told" \
		"1 1048576 $size 0 $size 0 0 0 1 unknown=$size" "$device" --force "$device"
	exec 9<&-
else
	skip "block devices" "$(cat mount.err)"
fi

mkdir lower upper work
file lower/low 8
size=$((8 * page))
if mounted over -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay; then
	hot over/low
	plans "overlay: nobody can tell" "1 $size $size 0 $size $size 1 0 1" over/low over/low
	plans "overlay: with --force it would go" "1 $size $size 0 $size 0 0 0 0" over/low --force over/low
	goes "overlay" --force over/low
else
	skip "overlay" "$(cat mount.err)"
fi


# on_disk FILE: what must hold on each file system
on_disk() {
	kind=${1%%/*}
	dirty "$1" 30
	hold use "$1"
	run "$warm" --evict --dry-run --force -f kv "$1"
	is "$kind: a dirty file, of which a page is mapped" \
		"$(($(value mapped_bytes) > 0)) $(($(value mapped_bytes) + $(value dirty_bytes))) $status" "1 $((30 * page)) 1"
	goes "$kind: a dirty file, of which a page is mapped" --force "$1"
	let_go
	hot "$1"
	run "$warm" --evict --dry-run -f kv -p $((3 * page + 5)):$((20 * page)) "$1"
	is "$kind: a range" "$(($(value edge_bytes) > 0)) $(value unknown_bytes) $status" "1 0 1"
	goes "$kind: a range" -p $((3 * page + 5)):$((20 * page)) "$1"
}

disk ext4 '-b 4096'
disk xfs ''
disk btrfs ''

done_testing
