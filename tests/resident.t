#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resident: counts that are true by construction, and what it says where it cannot know
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# counts NAME "FILES RESIDENT/PAGES UNKNOWN ERRORS METHOD STATUS" [COMMAND...] ARGUMENTS
counts() {
	counts_name=$1
	counts_wanted=$2
	shift 2
	run "$@"
	is "$counts_name" "$(value files) $(value resident_pages)/$(value pages) $(value unknown_files) $(value errors) $(value method) $status" "$counts_wanted" ||
		note "$err"
}

r() {
	"$resident" -f kv "$@"
}

### Counts

file half 64 100
warm half 8 16 65
counts "pages in memory" "1 16/65 0 0 cachestat 0" r half
is "size in bytes" "$(value size_bytes)" $((64 * page + 100))
is "resident bytes" "$(value resident_bytes)" $((16 * page))
is "ratio" "$(value ratio)" 24.62
is "nothing is dirty" "$(value dirty_bytes) $(value writeback_bytes)" "0 0"
warm half 8 16 65
counts "a range within" "1 2/2 0 0 cachestat 0" r -p "$((8 * page))":"$((2 * page))" half
counts "a range counts pages that it touches" "1 2/3 0 0 cachestat 0" \
	r -p $((8 * page - 1)):$((page + 2)) half
is "a range has its own size" "$(value size_bytes)" $((page + 2))
counts "a range past the end" "1 0/0 0 0 cachestat 0" r -p 1G half
is "no ratio without pages" "$(value ratio)" ""
counts "a range up to the end" "1 0/1 0 0 cachestat 0" r -p $((64 * page)) half

: >empty
counts "an empty file" "1 0/0 0 0 cachestat 0" r empty
mkdir void
counts "an empty folder" "0 0/0 0 0  0" r void

head -c $((5 * page)) /dev/zero >dirty
run r dirty
is "dirty bytes" "$(value dirty_bytes)" $((5 * page))
"$pages" --evict dirty

mkdir tree tree/sub
file tree/a 4
file tree/b 4
file tree/sub/c 4
warm tree/a 0 4 4
warm tree/b 1 1 4
warm tree/sub/c 0 0 4
counts "a folder and all below it" "3 5/12 0 0 cachestat 0" r tree
run "$resident" tree tree/a
is "text: a row for each operand, and the total" \
	"$(printf '%s\n' "$out" | awk 'NR > 1 { print $1, $NF }')" "3 tree
1 tree/a
4 total"
run "$resident" -v -f tsv tree
is "-v: a row for each file, then the operand's" \
	"$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $5 "/" $4, $1 }' | sort)" \
	"0/4 tree/sub/c
1/4 tree/b
4/4 tree/a
5/12 tree"

truncate -s 1T sparse
counts "a sparse file of 1 TiB" "1 0/$((1099511627776 / page)) 0 0 cachestat 0" r sparse
rm sparse

# sums that no number holds
if command -v perl >/dev/null && mkdir -p big && mount -t tmpfs none big 2>/dev/null; then
	on_exit "umount -l '$TMP/w/big' 2>/dev/null"
	perl -e 'for (1..3) { open F, ">", "big/$_"; truncate F, 0x7fffffffffffffff or die }'
	run timeout 60 "$resident" -f json big
	like "a sum that is too large is unknown" "$status:$out" \
		'0:*"files":3,"size_bytes":null,*"resident_pages":0,*'
	run timeout 60 "$resident" big/1 big/2 big/3
	like "and so it is in the total" "$(printf '%s\n' "$out" | tail -n 1 | tr -s ' ')" \
		"* 3 - 0B 0.00% *total"
	umount big
else
	skip "a sum that is too large" "needs root and perl"
fi

### Selection

counts "--include" "1 4/4 0 0 cachestat 0" r --include a tree
counts "--include with a slash" "1 0/4 0 0 cachestat 0" r --include '*/sub/*' tree
counts "--exclude a file" "2 1/8 0 0 cachestat 0" r --exclude '[a]' tree
counts "--exclude a folder" "2 5/8 0 0 cachestat 0" r --exclude sub tree
counts "--max-file-size" "0 0/0 0 0  0" r -m $((4 * page - 1)) tree
counts "--max-file-size allows that size" "3 5/12 0 0 cachestat 0" r -m $((4 * page)) tree

mkdir links
file links/a 4
ln links/a links/b
ln links/a links/c
counts "hard links count once" "1 0/4 0 0 cachestat 0" r links
counts "hard links count once over all operands" "2 1/8 0 0 cachestat 0" r --include '[ab]' \
	-T - <<-END
		links/b
		links
		tree/b
		links/a
	END
counts "--count-links" "3 0/12 0 0 cachestat 0" r --count-links links

mkdir sym
file sym/file 2
ln -s file sym/link
ln -s . sym/loop
ln -s ../tree sym/tree
ln -s nowhere sym/dangling
ln -s self sym/self
counts "symbolic links in folders are not followed" "1 0/2 0 0 cachestat 0" r sym
counts "those that are operands are" "1 0/2 0 0 cachestat 0" r sym/link
counts "-L follows them, each file and folder once" "4 5/14 0 0 cachestat 0" r -L sym

list() {
	# shellcheck disable=SC2059 # escapes are meant
	printf "$@" >list
}
list 'tree/a\n\ntree/b'
counts "a list: empty lines, no newline at its end" "2 5/8 0 0 cachestat 0" r -T list
counts "a list on standard input" "2 5/8 0 0 cachestat 0" r -T - <list
name=$(printf 'new\nline')
file "$name" 1
list 'tree/a\0\0new\nline\0'
counts "a list with NUL" "2 4/5 0 0 cachestat 0" r -0 -T list
list 'tree/a\0tree/b'
counts "a last name without NUL is not looked at" "1 4/4 0 1 cachestat 1" r -0 -T list
like "it is said" "$err" "resident: tree/b: the list ends here, with no NUL *"
list 'tree/a\ntree/b\n'
counts "a list of lines, with -0" " /    2" r -0 -T list
list 'tree/a\0b\ntree/b\n'
counts "NUL in a list of lines" "1 1/4 0 1 cachestat 1" r -T list
counts "a list and operands" "1 1/4 0 1 cachestat 1" r --files-from=list
list 'tree/b\n'
run "$resident" -T list tree/a
is "text: a list counts for one operand in the total" \
	"$(printf '%s\n' "$out" | awk 'NR > 1 { print $1, $NF }')" "1 tree/a
1 list
2 total"
long=$(printf '%5000s' '' | tr ' ' x)
list '%s\ntree/b\n' "$long"
counts "a name that is too long, and one that is not" "1 1/4 0 1 cachestat 1" r -T list
like "it is named by how it begins" "$err" "resident: xxxxxxxx*xxx: File*too long*"
# more than may be taken, with 300 names between
mkfifo zeros
{
	head -c 200M /dev/zero | tr '\0' x
	echo
	echo tree/b
} >zeros &
# shellcheck disable=SC3045 # every sh on Linux has ulimit -v
(ulimit -v 100000 && run r -T zeros; printf '%s\n' "$status $out" >limited)
is "a name of 200 MiB takes no memory" \
	"$(sed -n '1s/ .*//p; s/^files=//p; s/^errors=//p' limited | tr '\n' ' ')" "1 1 1 "
rm zeros
run "$resident" -f tsv -T /dev/null
like "tsv without rows has its heading" "$status:$out" "0:path*"
list ''
counts "an empty list" "0 0/0 0 0  0" r -T list
# what failed has no figures, least of all those of a file before it
(mkdir many && cd many && for i in $(seq 3000); do echo >"$i"; done)
{ seq -f many/%g 2000; seq -f many/none%g 900; seq -f many/%g 2001 3000; } >list
run "$BUILD/warm" -f kv -T list
is "warm: files and names of none in a list" \
	"$(value files) $(value failed_files) $(value size_bytes) $status" "3000 900 3000 1"
counts "files and names of none in a list" "3000 3000/3000 0 900 cachestat 1" r -T list
rm -r many
run r -T missing tree
is "no such list: status" "$status" 2
is "no such list: message" "$err" "resident: missing: No such file or directory"
run r -T tree
is "a list that cannot be read: status" "$status" 2
like "a list that cannot be read: message" "$err" "resident: tree: *directory"

### Errors

run "$resident"
is "no operand: status" "$status" 3
run "$resident" -0 tree
is "-0 without a list: status" "$status" 3
run "$resident" -q missing
is "no operand could be looked at: status" "$status" 2
is "no operand could be looked at: message" "$err" "resident: missing: No such file or directory"
run r missing tree
is "one operand failed: status" "$status" 1
is "one operand failed: the other has its row" "$(value path) $(value files)" "tree 3"
mkfifo fifo tree/fifo
for special in fifo /dev/null; do
	run timeout 5 "$resident" "$special"
	is "$special: status" "$status" 2
	is "$special: message" "$err" "resident: $special: not a file, folder or block device"
done
counts "a FIFO in a folder is left out" "3 5/12 0 0 cachestat 0" timeout 5 "$resident" -f kv tree

run timeout 10 "$resident" -v -f tsv -t 300ms -T fifo tree
is "-t: status" "$status" 3
like "-t: message" "$err" "resident: not done within the time allowed (--timeout)*"
like "-t: rows so far" "$out" "*tree/sub/c*tree*"
"$resident" -f kv -T fifo >term.out 2>term.err &
reader=$!
exec 8>fifo
echo tree/a >&8
sleep 0.5
kill -TERM "$reader"
wait "$reader"
is "SIGTERM: status" $? 143
like "SIGTERM: partial totals" "$(cat term.out)" "*path=fifo*files=1*"
exec 8>&-

# what ends it while it waits for the rest of its list, and a report is on the way
mkdir reports
echo old >reports/report
for signal in HUP:129 TERM:143 INT:130; do
	# (a background job ignores INT unless it says otherwise, as resident does)
	# SIGHUP may be ignored here, and then stays so
	env --default-signal=HUP "$resident" -o reports/report -T fifo 2>/dev/null &
	reader=$!
	exec 8>fifo
	sleep 0.3
	kill -"${signal%:*}" "$reader"
	status=0
	wait "$reader" || status=$?
	exec 8>&-
	is "SIG${signal%:*}: the old report alone is left" \
		"$status $(cd reports && grep . ./*)" "${signal#*:} old"
done
mkdir long
for length in 248 249 255; do
	name=long/$(printf "%0${length}d" 1)
	run "$resident" -f kv -o "$name" --save="${name%1}2" tree
	is "-o and --save with a name of $length bytes" \
		"$status:$err:$(sed 1q "$name"):$(sed 1q "${name%1}2")" "0::path=tree:hotset snapshot 1"
done
is "nothing else is left there" "$(find long -type f | wc -l)" 6
rm -r long
(trap '' HUP && exec "$resident" -f kv -T fifo) >hup.out 2>&1 &
reader=$!
exec 8>fifo
sleep 0.3
kill -HUP "$reader"
echo tree/a >&8
exec 8>&-
wait "$reader"
is "SIGHUP that is ignored stays so" "$? $(sed -n 's/^files=//p' hup.out)" "0 1"
{ sleep 0.2; status=0; "$resident" -o reports/report missing tree 2>&1 >/dev/null || status=$?
	echo $status >pipe.out; } | :
is "SIGPIPE of a message: the old report alone is left" \
	"$(cat pipe.out) $(cd reports && grep . ./*)" "141 old"
# shellcheck disable=SC3045 # every sh on Linux has ulimit -f
err=$(ulimit -f 0; status=0; "$resident" -o reports/report tree 2>&1 || echo "status $?")
like "a report beyond the limit of a file's size is an error" "$err" \
	"resident: *reports/report: File*large*
status 2"
is "beyond the limit: the old report alone is left" "$(cd reports && grep . ./*)" old

### Trees

if command -v perl >/dev/null; then
	mkdir deep
	file deep/top1 1
	perl -e 'chdir "deep"; for (1..10000) { mkdir "d"; chdir "d" or die } open F, ">", "bottom"'
	file deep/top2 1
	counts "10,000 folders deep" "3 0/2 0 0 cachestat 0" timeout 60 "$resident" -f kv deep
	# shellcheck disable=SC3045 # every sh on Linux has ulimit -n
	(ulimit -n 100 && timeout 60 "$resident" deep) >deep.out 2>&1
	is "10,000 folders deep with few open files: status" $? 0
	rm -rf deep
	mkdir wide
	perl -e 'chdir "wide"; for (1..3000) { mkdir $_; open F, ">", "$_/file" }'
	# shellcheck disable=SC3045
	(ulimit -n 100 && r wide) >wide.out 2>&1
	is "3,000 folders with few open files" "$? $(sed -n 's/^files=//p' wide.out)" "0 3000"
	rm -rf wide
else
	skip "10,000 folders deep" "needs perl"
fi

# shellcheck disable=SC2016 # $(name) is part of the name
hostile=$(printf 'bad\377"\\\047$(name)\n')
mkdir "$hostile"
file "$hostile/file" 1
run r "$hostile"
eval "$(printf '%s\n' "$out" | grep -a '^path=')"
# shellcheck disable=SC2154 # path comes from there
is "hostile names: kv is safe to eval" "$path" "$hostile"
run "$resident" -f json "$hostile"
# shellcheck disable=SC1003,SC2016
like "hostile names: json" "$out" '{"path":"bad\\udcff\\"\\\\'?'$(name)",*'

file shrinking 2000
(while :; do truncate -s 0 shrinking && truncate -s 8M shrinking; done) &
truncater=$!
bad=0
for try in 1 2 3 4 5 6 7 8 9 10; do
	"$resident" shrinking >shrink.out 2>&1 && "$enosys" cachestat -- "$resident" shrinking >>shrink.out 2>&1 || bad=$?
done
kill "$truncater"
is "a file that shrinks meanwhile" "$bad" 0

### Other ways to know

for how in cachestat cachestat=EPERM; do
	warm half 8 16 65
	counts "$how fails: the same count by mincore" "1 16/65 0 0 mincore 0" "$enosys" "$how" -- \
		"$resident" -f kv half
	is "$how fails: what only cachestat knows is unknown" \
		"$(value dirty_bytes)$(value writeback_bytes)$(value evicted_pages)" ""
	warm half 0 65 65
	counts "$how fails: all in memory" "1 65/65 0 0 mincore 0" "$enosys" "$how" -- \
		"$resident" -f kv half
	counts "$how fails: a range" "1 3/3 0 0 mincore 0" "$enosys" "$how" -- \
		"$resident" -f kv -p $((page - 1)):$((page + 2)) half
done
run "$enosys" cachestat -- "$resident" -f json half
like "unknown is null in json" "$out" '*"dirty_bytes":null,*'
counts "neither way" "1 / 1 0 unknown 1" "$enosys" cachestat mincore=ENOMEM -- "$resident" -f kv half
like "neither way: message" "$err" "resident: half: *memory"

[ "$(id -u)" -eq 0 ] || {
	skip "files of others, mounts" "needs root"
	done_testing
}

### Files of others

# stranger NAME WANTED ARGUMENTS: as an unprivileged user, and by either method
stranger() {
	stranger_name=$1
	stranger_wanted=$2
	shift 2
	counts "$stranger_name" "$stranger_wanted" as_nobody "$resident" -f kv "$@"
	stranger_wanted=$(echo "$stranger_wanted" | sed 's/cachestat/mincore/')
	for how in cachestat cachestat=EPERM; do
		counts "$stranger_name, $how fails" "$stranger_wanted" as_nobody \
			"$TMP/enosys" $how -- "$resident" -f kv "$@"
	done
}

mkdir others
file others/read 8
file others/write 8
file others/own 8
chmod 666 others/write
chown 65534 others/own
warm others/read 0 2 8
warm others/write 0 3 8
warm others/own 0 5 8
stranger "a file that others own: cold" "1 / 1 0 unknown 1" others/read
stranger "a file that others own, and we may write" "1 3/8 0 0 cachestat 0" others/write
stranger "an own file" "1 5/8 0 0 cachestat 0" others/own
warm others/read 0 8 8
warm others/write 0 8 8
stranger "a file that others own: warm" "1 / 1 0 unknown 1" others/read
stranger "warm, and we may write" "1 8/8 0 0 cachestat 0" others/write
chmod 000 others/write
warm others/own 0 5 8
stranger "sums leave out what is unknown" "2 5/8 1 1 mixed 1" others
like "the reason" "$err" "*others/write: Permission denied*others: residency of 1 of 2 files is unknown*CAP_FOWNER*"
run as_nobody "$resident" others/read
like "text shows no number" "$(printf '%s\n' "$out" | tail -n 1 | tr -s ' ')" " 1 - - - - 1 unknown others/read"
chmod 666 others/write
chmod 700 tree/sub
counts "a folder that cannot be read" "2 / 2 1 unknown 1" as_nobody "$resident" -f kv tree
like "it is named" "$err" "*resident: tree/sub: Permission denied*"
if as_nobody unshare -r true 2>/dev/null; then
	counts "root of a user namespace" "1 / 1 0 unknown 1" as_nobody unshare -r "$resident" -f kv others/read
	counts "root of a user namespace, by mincore" "1 / 1 0 unknown 1" as_nobody unshare -r \
		"$TMP/enosys" cachestat -- "$resident" -f kv others/read
else
	skip "root of a user namespace" "unprivileged user namespaces are not allowed"
fi

### Mounts

mkdir lower upper work
file lower/low 8
if mounted over -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay; then
	file over/up 8
	warm over/low 0 3 8
	warm over/up 0 8 8
	counts "overlay: lower file" "1 3/8 0 0 mincore 0" r over/low
	counts "overlay: upper file" "1 8/8 0 0 mincore 0" r over/up
	counts "overlay: folder" "2 11/16 0 0 mincore 0" r over
	counts "overlay: a file of others" "2 / 2 0 unknown 1" as_nobody "$resident" -f kv over
	warm tree/a 0 4 4
	counts "a folder and an overlay together" "3 15/20 0 0 mixed 0" r -T - <<-END
		tree/a
		over
	END
	is "what is not known of all is unknown" "$(value dirty_bytes)" ""
else
	skip "overlay" "$(cat mount.err)"
fi

if mounted huge -t tmpfs -o huge=always,size=64M tmpfs || mounted huge -t tmpfs tmpfs; then
	head -c 4800000 /dev/zero >huge/file
	all=$(((4800000 + page - 1) / page))
	counts "tmpfs is all in memory, not more" "1 $all/$all 0 0 cachestat 0" r huge
	counts "tmpfs by mincore" "1 $all/$all 0 0 mincore 0" "$enosys" cachestat -- "$resident" -f kv huge
	counts "tmpfs: a file of others" "1 / 1 0 unknown 1" as_nobody "$resident" -f kv huge
	mkdir huge/upper huge/work
	if mounted over2 -t overlay -o lowerdir=lower,upperdir=huge/upper,workdir=huge/work overlay; then
		warm over2/low 0 5 8
		cp huge/file over2/file
		counts "overlay over two file systems" "2 $((5 + all))/$((8 + all)) 0 0 mincore 0" r over2
	else
		skip "overlay over two file systems" "$(cat mount.err)"
	fi
else
	skip "tmpfs" "$(cat mount.err)"
fi

# disk TYPE [OPTION...]: a file system of its own in disk.TYPE/, made with these options, with one
# file; false where that cannot be
disk() {
	disk_type=$1
	shift
	command -v "mkfs.$disk_type" >/dev/null || {
		skip "$disk_type" "needs mkfs.$disk_type"
		return 1
	}
	truncate -s 320M "$disk_type.img"
	if ! "mkfs.$disk_type" -q "$@" "$disk_type.img" >mkfs.out 2>&1 ||
		! mounted "disk.$disk_type" -o loop "$disk_type.img"; then
		skip "$disk_type" "$(cat mkfs.out mount.err)"
		return 1
	fi
	file "disk.$disk_type/file" 16 7
	warm "disk.$disk_type/file" 5 5 17
	counts "$disk_type" "1 5/17 0 0 cachestat 0" r "disk.$disk_type/file"
	counts "$disk_type by mincore" "1 5/17 0 0 mincore 0" "$enosys" cachestat -- "$resident" -f kv "disk.$disk_type/file"
}

disk xfs
if disk btrfs; then
	btrfs -q subvolume create disk.btrfs/sub && file disk.btrfs/sub/file 3
	counts "btrfs: subvolumes are entered" "2 5/20 0 0 cachestat 0" r disk.btrfs
	counts "btrfs: not with -x" "1 5/17 0 0 cachestat 0" r -x disk.btrfs
fi
if disk ext4 -b "$page"; then # blocks of 1k are for resident-blocks.t
	mkdir disk.ext4/mnt
	rmdir disk.ext4/lost+found
	if mount --bind tree disk.ext4/mnt; then
		on_exit "umount -l '$TMP/w/disk.ext4/mnt' 2>/dev/null"
		warm tree/a 0 4 4
		warm tree/b 1 1 4
		counts "nested mounts are entered" "4 10/29 0 0 cachestat 0" r disk.ext4
		counts "not with -x" "1 5/17 0 0 cachestat 0" r -x disk.ext4
		umount disk.ext4/mnt
	fi
	warm disk.ext4/file 5 5 17
	chmod 666 disk.ext4/file
	mount -o remount,bind,ro disk.ext4
	stranger "a mount that is read-only: a file that we could write" \
		"1 5/17 0 0 cachestat 0" disk.ext4/file
	mount -o remount,ro disk.ext4
	stranger "a file system that is read-only: nobody can write it" \
		"1 / 1 0 unknown 1" disk.ext4/file
fi

truncate -s 1M raw.img
if device=$(losetup -f --show raw.img 2>mount.err); then
	on_exit "losetup -d $device"
	exec 9<"$device" # the page cache of a device goes when nobody has it open
	warm "$device" 3 5 $(((1 << 20) / page))
	counts "a block device" "1 5/$(((1 << 20) / page)) 0 0 mincore 0" r "$device"
	is "its size" "$(value size_bytes)" $((1 << 20))
	counts "a block device by mincore" "1 5/$(((1 << 20) / page)) 0 0 mincore 0" \
		"$enosys" cachestat -- "$resident" -f kv "$device"
	exec 9<&-
	# blocks smaller than a page: pages of the device that hold some of their blocks only
	if command -v mkfs.ext4 >/dev/null && mkfs.ext4 -q -b 1024 "$device" 2>mount.err &&
		mounted small "$device"; then
		truncate -s 100k small/file
		ls -laR small >/dev/null
		counts "a device with a file system: what mincore says" \
			"1 $("$pages" "$device") 0 0 mincore 0" r "$device"
	else
		skip "a device with a file system" "$(cat mount.err)"
	fi
else
	skip "block devices" "$(cat mount.err)"
fi
if mounted hugetlb -t hugetlbfs none; then
	truncate -s 2M hugetlb/file
	counts "hugetlbfs is not page cache" "1 / 1 0 unknown 1" r hugetlb
	counts "hugetlbfs, cachestat fails" "1 / 1 0 unknown 1" "$enosys" cachestat -- "$resident" -f kv hugetlb
	like "hugetlbfs: message" "$err" "*not kept in the page cache*"
else
	skip "hugetlbfs" "$(cat mount.err)"
fi
mkdir root root/proc
if mount -t proc proc root/proc; then
	on_exit "umount -l '$TMP/w/root/proc'"
	file root/file 1
	counts "proc below a folder is left out" "1 0/1 0 0 cachestat 0" r root
fi

done_testing
