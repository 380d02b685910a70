#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resident --save and --diff: exactly the bytes that came and went, by construction
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
here=$(pwd -P)

# set_map NAME MAP: these pages are in memory ("0110"), no others
set_map() {
	"$pages" --evict "$1"
	set_map_rest=$2 set_map_at=0
	while [ -n "$set_map_rest" ]; do
		case $set_map_rest in
		1*) "$pages" --warm "$1" $((set_map_at * page)) "$page" ;;
		esac
		set_map_rest=${set_map_rest#?} set_map_at=$((set_map_at + 1))
	done
}

# are NAME MAP...: these files have these pages in memory
are() {
	while [ $# -gt 0 ]; do
		[ "$("$pages" --map "$1")" = "$2" ] || return
		shift 2
	done
}

# maps NAME MAP...: makes it so. The kernel may reclaim pages at any time: again, until it is.
maps() {
	for try in 1 2 3 4 5; do
		(while [ $# -gt 0 ]; do set_map "$1" "$2" && shift 2; done)
		! are "$@" || return 0
	done
	note "$*: not so after $try tries"
	return 1
}

# line NAME: how a snapshot begins what it has of a file
line() {
	printf 'file\t%s\t%s/%s\n' "$(stat --printf '%d\t%i\t%s\t%.9Y' "$1")" "$here" "$1"
}

# ranges FILE: a snapshot without heat, and what that has split joined again
ranges() {
	awk -F '\t' -v OFS='\t' '
		function flush() { if (length_) print "in", offset, length_; length_ = 0 }
		$1 == "in" && length_ && $2 == offset + length_ { length_ += $3; next }
		{ flush() }
		$1 == "in" { offset = $2; length_ = $3; next }
		{ print }' "$1"
}

# rows: the rows of a tsv diff in $out as "then now stayed came went state path", in pages
rows() {
	printf '%s\n' "$out" | awk -F '\t' -v page="$page" '
		function pages(bytes) { return bytes == "" ? "-" : bytes / page }
		NR > 1 { print pages($3), pages($4), pages($5), pages($6), pages($7), $13, $1 }'
}

# step NAME WANTED ARGUMENTS...: what --diff=snap says while pages are as $state has it (NAME
# MAP words)
state=''
step() {
	step_name=$1 step_wanted=$2
	shift 2
	for try in 1 2 3; do
		# shellcheck disable=SC2086 # words
		maps $state
		run "$resident" -f tsv --diff="$snap" "$@"
		# shellcheck disable=SC2086
		! are $state || break
	done
	is "$step_name" "$(rows)" "$step_wanted" || note "$err"
}
snap=$here/snap

### What is saved

mkdir tree tree/sub
file tree/a 8 100
file tree/b 4
file tree/cold 4
file tree/sub/c 4
state='tree/a 001111001 tree/b 1111 tree/cold 0000 tree/sub/c 0110'
# save ARGUMENTS...: a snapshot of $state
save() {
	for try in 1 2 3; do
		# shellcheck disable=SC2086
		maps $state
		run "$resident" --save=snap "$@"
		# shellcheck disable=SC2086
		! are $state || return
	done
}
save ./tree//
is "a snapshot" "$status:$err:$(ranges snap)" "0::hotset snapshot 1
$(line tree/a)
in	$((2 * page))	$((4 * page))
in	$((8 * page))	100
$(line tree/b)
in	0	$((4 * page))
$(line tree/sub/c)
in	$page	$((2 * page))
end	3	$((10 * page + 100))"
save -f tsv tree
report=$out
run "$resident" -f tsv tree
is "the report is the same without" "$report" "$out"

### What came and went

run "$resident" -f tsv --diff=snap tree
is "nothing came or went: one row" "$status:$(printf '%s\n' "$out" | cut -f 1,2,6,7,13)" \
	"0:path	files	came_bytes	went_bytes	state
tree	4	0	0	same"

file tree/a 8
file tree/b 4
state='tree/a 00111100 tree/b 1111 tree/cold 0000 tree/sub/c 0110'
save tree
state='tree/a 00011011 tree/b 0000 tree/cold 1000 tree/sub/c 0110'
step "what came and went, where it differs" "4 4 2 2 2 same tree/a
4 0 0 0 4 same tree/b
0 1 0 1 0 new tree/cold
10 7 4 3 6 mixed tree" tree
is "counts of files" "$(printf '%s\n' "$out" | tail -n 1 | cut -f 2,8-12)" "4	0	1	0	0	0"
step "-v: where it does not, too" "4 4 2 2 2 same tree/a
4 0 0 0 4 same tree/b
0 1 0 1 0 new tree/cold
2 2 2 0 0 same tree/sub/c
10 7 4 3 6 mixed tree" -v tree
cd / || exit 1
state="$here/tree/a 00011011 $here/tree/b 0000 $here/tree/cold 1000 $here/tree/sub/c 0110"
step "without operand: the files of the snapshot, from anywhere" "4 4 2 2 2 same $here/tree/a
4 0 0 0 4 same $here/tree/b
10 6 4 2 6 same $snap"
cd "$here" || exit 1
state='tree/a 00011011 tree/b 0000 tree/cold 1000 tree/sub/c 0110'
step "several operands" "4 4 2 2 2 same tree/a
2 2 2 0 0 same tree/sub" tree/a tree/sub
step "a list" "4 4 2 2 2 same tree/a
4 4 2 2 2 same -" -T - <<-END
	tree/a
END
step "another way to them is another path" "0 4 0 4 0 new tree/sub/../a" tree/sub/../a
step "a range counts then and now" "2 1 1 0 1 same tree/a
2 0 0 0 2 same tree/b
0 0 0 0 0 same tree/cold
1 1 1 0 0 same tree/sub/c
5 2 2 0 3 same tree" -v -p "$((2 * page)):$((2 * page))" tree
step "a range that ends within a page" "0.5 0.5 0.5 0 0 same tree/sub/c" \
	-p "$page:$((page / 2))" tree/sub/c
step "--sort, --rows" "10 7 4 3 6 mixed tree
4 0 0 0 4 same tree/b
4 4 2 2 2 same tree/a" --sort=went --rows=2 tree
step "--rows alone goes by what came" "10 7 4 3 6 mixed tree
4 4 2 2 2 same tree/a" --rows=1 tree
run "$resident" -f tsv --columns=went,path --diff=snap tree/b
is "--columns" "$out" "went_bytes	path
$((4 * page))	tree/b"
run "$resident" --diff=snap tree tree/b
is "text: a total" "$(printf '%s\n' "$out" | tail -n 1 | awk '{ print $1, $NF }')" "5 total"
run "$resident" -f json --diff=snap tree/b
is "json" "$out" "{\"path\":\"tree/b\",\"files\":1,\"then_bytes\":$((4 * page)),\"now_bytes\":0,\"stayed_bytes\":0,\"came_bytes\":0,\"went_bytes\":$((4 * page)),\"changed_files\":0,\"new_files\":0,\"gone_files\":0,\"unknown_files\":0,\"errors\":0,\"state\":\"same\"}"
run "$resident" -f prom --diff=snap tree
is "prom: operands only" "$(printf '%s\n' "$out" | grep -c '^hotset_resident_diff_went_bytes{path="tree"}')" 1
is "prom: no files" "$(printf '%s\n' "$out" | grep -c 'tree/')" 0
run "$resident" -f kv --diff=snap tree/b
is "kv" "$(printf '%s\n' "$out" | grep -E '^(went_bytes|state)=')" "went_bytes=$((4 * page))
state=same"

### Files that are others, or no more

# again: the tree anew, in a snapshot, without what $1 does to it afterwards
again() {
	rm -rf tree
	mkdir tree tree/sub
	file tree/a 8
	file tree/b 4
	file tree/sub/c 4
	state='tree/a 00111100 tree/b 1111 tree/sub/c 0110'
	save tree
	state=
}
again
touch tree/a
state='tree/a 10111100'
step "modified" "4 5 - - - changed tree/a" tree/a
cp -p tree/b tree/new && sync tree/new && mv tree/new tree/b
state='tree/b 1000'
step "replaced, same size and time" "4 1 - - - changed tree/b" tree/b
time=$(stat -c %y tree/sub/c)
echo x >>tree/sub/c
touch -d "$time" tree/sub/c
sync tree/sub/c
state='tree/sub/c 01000'
step "longer, same time" "2 1 - - - changed tree/sub/c" tree/sub/c
state='tree/a 10111100 tree/b 1000 tree/sub/c 01000'
step "what does not compare is in no sum" "4 5 - - - changed tree/a
4 1 - - - changed tree/b
2 1 - - - changed tree/sub/c
10 7 - - - changed tree" tree

again
mv tree/a tree/moved
rm -r tree/sub
state='tree/moved 00111100 tree/b 1111'
step "moved, and removed with its folder" "0 4 0 4 0 new tree/moved
4 0 0 0 4 gone tree/a
2 0 0 0 2 gone tree/sub/c
10 8 4 4 6 mixed tree" tree
is "counts of files" "$(printf '%s\n' "$out" | tail -n 1 | cut -f 2,8-12)" "4	0	1	2	0	0"
state='tree/b 1111'
step "without operand" "4 0 0 0 4 gone $here/tree/a
2 0 0 0 2 gone $here/tree/sub/c
10 4 4 0 6 mixed $snap"
step "a list" "4 0 0 0 4 gone ./tree//a
2 0 0 0 2 gone ./tree//sub/c
10 4 4 0 6 mixed -" --exclude=moved -T - <<-END
	./tree//
END
step "what is not selected is not gone" "4 0 0 0 4 gone tree/a
8 4 4 0 4 mixed tree" --exclude=moved --exclude=sub tree
step "nor is what is larger than selected" "0 0 0 0 0  tree" -m $((2 * page)) --exclude='[a-b]' \
	--exclude=sub tree
rm -r tree
state=
step "an operand that is no more" "4 0 0 0 4 gone tree/a
4 0 0 0 4 gone tree/b
2 0 0 0 2 gone tree/sub/c
10 0 0 0 10 gone tree" tree
is "is no error" "$status:$err" "0:"
step "one that is named twice" "4 0 0 0 4 gone tree/a
4 0 0 0 4 gone tree/b
2 0 0 0 2 gone tree/sub/c
10 0 0 0 10 gone tree
0 0 0 0 0  tree" tree tree
run "$resident" -f tsv --diff=snap never tree
is "one that never was is" "$status:$err:$(rows | tail -n 1)" \
	"1:resident: never: No such file or directory:10 0 0 0 10 gone tree"
mkdir tree tree/a
file tree/a/below 2
state='tree/a/below 11'
step "a folder in the place of a file" "4 0 0 0 4 gone $here/tree/a
4 0 0 0 4 gone $here/tree/b
2 0 0 0 2 gone $here/tree/sub/c
10 0 0 0 10 gone $snap"
rm -r tree/a && mkfifo tree/a
state=
run timeout 5 "$resident" -f tsv --diff=snap tree
is "a FIFO in the place of a file" "$status:$(rows | head -n 1)" "0:4 0 0 0 4 gone tree/a"

again
ln tree/b tree/0
ln tree/b tree/z
state='tree/a 00111100 tree/b 1111 tree/sub/c 0110'
save tree
is "of hard links the first in order is saved" "$(grep -c '^file' snap):$(grep -o 'tree/[0bz]$' snap)" \
	"3:tree/0"
step "and compared" "10 10 10 0 0 same tree" tree
again
save tree tree/b
is "a path that is there twice" "$(grep -c '/tree/b$' snap)" 2
step "counts once" "10 10 10 0 0 same $snap"

### Hostile names

rm -rf tree
mkdir tree
# shellcheck disable=SC1003 # a backslash
for escaped in 'new\nline' 'tab\ttab' 'back\\slash' 'back\\nn' 'bad\377utf8' '\302\233c1' 'end\t0\n' \
	' ' '\303\244' '\001\177' 'in\t0\t4096' '\\x00' '\\' '..\n' '-'; do
	# shellcheck disable=SC2059 # the escapes are meant
	name=$(printf -- "${escaped}.")
	file "tree/$name" 1
	"$pages" --warm "tree/$name" 0 "$page"
done
run "$resident" --save=snap tree
is "hostile names are saved" "$status:$err:$(wc -l <snap)" "0::32"
run "$resident" -f tsv --diff=snap
is "and found again" "$status:$err:$(printf '%s\n' "$out" | tail -n 1 | cut -f 2,8-13)" \
	"0::15	0	0	0	0	0	same"
is "no byte of theirs is a control character" "$(tr -d '\t\n' <snap | tr -dc '\001-\037\177')" ""

### Snapshots that are refused

# refused NAME MESSAGE: snap is
refused() {
	for operand in '' "$here"; do
		run "$resident" --diff=snap ${operand:+"$operand"}
		is "$1${operand:+, with an operand}" "$status:$out:$err" "3::resident: snap: $2"
	done
}
again
cp snap whole
head -n 3 whole >snap
refused "one that is cut" "not to be used: line 4: the end is missing"
head -c -1 whole >snap
refused "one that lacks its last byte" "not to be used: line $(wc -l <whole): it is cut off"
sed '1s/1/2/' whole >snap
refused "one of another version" \
	"not to be used: line 1: a version of the format that is not known here"
{ cat whole && echo; } >snap
refused "one with more behind its end" "not to be used: line $(($(wc -l <whole) + 1)): it is behind the end"
rm snap
refused "none" "No such file or directory"
mkdir snap
refused "a folder" "Is a directory"
rmdir snap
: >snap
refused "an empty file" \
	"not to be used: line 1: it does not begin a snapshot (hotset snapshot 1)"
run timeout 5 "$resident" --diff=/dev/zero
is "no text at all" "$status:$err" \
	"3:resident: /dev/zero: not to be used: line 1: it does not begin a snapshot (hotset snapshot 1)"
printf 'hotset snapshot 1\nend\t0\t0\n' >snap
run "$resident" -f tsv --diff=snap
is "an empty snapshot" "$status:$err:$(rows)" "0::0 0 0 0 0  snap"
for wrong in --min=1 --depth=1 --sort=ratio --columns=pages; do
	run "$resident" "$wrong" --diff=snap tree
	like "$wrong does not go with --diff" "$status:$out:$err" "3::resident: *"
done

### What leaves the old snapshot

mkdir keep
# kept NAME STATUS PATTERN: the last run had this status and messages, and keep/snap is the
# old one, alone
kept() {
	like "$1" "$status:$err" "$2:$3"
	is "$1: the old snapshot is left, alone" "$(cd keep && grep . ./*)" old
}
echo old >keep/snap
run "$resident" --save=keep/snap missing
kept "nothing could be looked at" 2 "resident: missing: No such file or directory"
mkfifo fifo
for signal in HUP:129 TERM:143 INT:130; do
	# SIGHUP may be ignored here, and then stays so
	env --default-signal=HUP "$resident" --save=keep/snap -T fifo >/dev/null 2>err &
	saver=$!
	exec 8>fifo
	echo tree/a >&8
	sleep 0.3
	kill -"${signal%:*}" "$saver"
	status=0
	wait "$saver" || status=$?
	exec 8>&-
	err=$(cat err)
	kept "SIG${signal%:*}" "${signal#*:}" ""
done
run timeout 5 "$resident" -t 0.3 --save=keep/snap -T fifo tree
kept "not done within the time" 3 "resident: not done within the time allowed*"
run "$resident" --save=keep/missing/snap tree
kept "no such folder" 2 "resident: keep/missing/snap: No such file or directory"
is "no report then" "$out" ""
# shellcheck disable=SC3045 # every sh on Linux has ulimit -f
err=$(ulimit -f 0; "$resident" --save=keep/snap tree 2>&1 >/dev/null)
status=$?
kept "beyond the limit of a file's size" 2 "resident: keep/snap: File*large*"
run "$resident" --save=/dev/full tree
is "a device that is full" "$status:$err:$(printf '%s\n' "$out" | wc -l)" \
	"2:resident: /dev/full: No space left on device:2"
run "$resident" --save=keep/snap --diff=missing tree
kept "nothing to compare with" 3 "resident: missing: No such file or directory"
run "$resident" -q --save=keep/snap missing tree
is "one of two operands failed" "$status:$(sed 1q keep/snap)" "1:hotset snapshot 1"
mkdir keep/tree
(cd keep/tree && for i in $(seq 3000); do echo "$i" >"$i"; done)
run "$resident" --save=keep/tree/snap keep/tree
is "the snapshot is not in itself" "$status:$(grep -c '/snap' keep/tree/snap)" 0:0
cat keep/tree/snap >/dev/null
run "$resident" -o keep/tree/report --save=keep/tree/snap keep/tree
is "nor is the old one, which it replaces" "$status:$(grep -c '/snap' keep/tree/snap)" 0:0
cat keep/tree/report keep/tree/snap >/dev/null
ln -s tree/snap keep/link
run "$resident" -o keep/tree/report --save=keep/link keep/tree
is "by a link neither, nor the report" \
	"$status:$(grep -c '/snap\|/report' keep/tree/snap):$(tail -n 1 keep/tree/snap | cut -f 2)" 0:0:3000
run "$BUILD/warm" -q -f kv --restore=keep/tree/snap
is "so that all of it can be restored" "$status:$(value failed_files)" 0:0
rm keep/tree/report keep/link

note "the report in the place of the snapshot"

(cd keep && ln -s snap link && ln -s new dangling)
before=$(cksum <keep/snap)
for name in keep/snap keep/../keep/snap "$here/keep/snap" keep/link; do
	run "$resident" -o "$name" --save=keep/snap tree
	is "-o $name --save: refused" "$status:$out:$(cksum <keep/snap)" "3::$before"
	is "-o $name --save: it is said" "$(printf '%s\n' "$err" | sed 1q)" \
		"resident: the report and the snapshot cannot both be keep/snap (see resident --help)"
done
for name in keep/new ./keep/new keep/dangling; do
	run "$resident" -o keep/new --save="$name" tree
	is "-o --save=$name, a new file: refused" "$status:$(cd keep && echo n*)" "3:n*"
done
ln keep/snap keep/hard
run "$resident" -o keep/hard --save=keep/snap tree
is "two names of a file become two files" "$status:$(sed 1q keep/snap):$(wc -l <keep/hard)" \
	"0:hotset snapshot 1:2"
run "$resident" -o /dev/null --save=/dev/null tree
is "/dev/null takes both" "$status" 0
rm keep/link keep/dangling keep/hard
rm -r keep/tree/[2-9]* keep/tree/1?*
"$resident" --save=keep/tree/snap keep/tree/1 >/dev/null
run "$resident" -f tsv --columns=stayed,state --diff=keep/tree/snap --save=keep/tree/snap keep/tree/1
is "compared and replaced in one" "$status:$(printf '%s' "$out" | tail -n 1):$(tail -n 1 keep/tree/snap)" \
	"0:2	same:end	1	2"

[ "$(id -u)" -eq 0 ] || {
	skip "full disks, files of others, heat" "needs root"
	done_testing
}

mkdir full
if mount -t tmpfs -o size=64k none full 2>mount.err; then
	on_exit "umount -l '$here/full'"
	mkdir many
	for i in $(seq 300); do
		echo "$i" >"many/some-name-that-takes-up-some-more-of-the-room-$i"
	done
	rm -r keep/*
	echo old >full/snap
	dd if=/dev/zero of=full/filler bs=4k count=8 2>/dev/null
	run "$resident" --save=full/snap many
	is "a full disk" "$status:$err" "2:resident: full/snap: No space left on device"
	is "a full disk: the old snapshot is left, alone" "$(ls -A full):$(cat full/snap)" \
		"filler
snap:old"
	rm full/filler
	run "$resident" --save=full/snap many
	is "once there is room" "$status:$err:$(tail -n 1 full/snap | cut -f 2)" "0::300"
else
	skip "a full disk" "$(cat mount.err)"
fi

### Files of others

again
chmod 666 tree/b
chmod 600 tree/sub/c
mkdir -m 777 public
run as_nobody "$resident" --save=public/snap tree
like "what is not known is not in the snapshot" "$status:$err" \
	"1:*tree/sub/c: Permission denied*tree: residency of 1 of 2 files is unknown*"
is "what is known is" "$(ranges public/snap)" "hotset snapshot 1
$(line tree/b)
in	0	$((4 * page))
end	1	$((4 * page))"
is "without heat" "$(awk -F '\t' '$1 == "in" && NF > 3' public/snap)" ""
run as_nobody "$resident" -f tsv --diff=snap tree
is "compared, it is unknown" "$status:$(rows)" "1:- - - - - unknown tree/a
4 4 4 0 0 mixed tree"

### Heat

# heat NAME FIRST COUNT: the heat of these pages of a file, as the snapshot has it
heat() {
	awk -F '\t' -v name="$1" -v page="$page" -v first="$2" -v count="$3" '
		$1 == "file" { here = $6 == name }
		$1 == "in" && here && $2 < (first + count) * page && $2 + $3 > first * page {
			printf("%s%s", parts++ ? " " : "", NF > 3 ? $4 : "-") }' snap
}
# A file of which the first pages were used once and the next three times, and one of which
# only the first page was used and others may have been read ahead. (A page that was used just
# now may wait in its processor's batch: hence more of them than are looked at.)
heated() {
	rm -f hot ahead
	file hot 512
	file ahead 64
	"$pages" --evict hot
	"$pages" --evict ahead
	"$pages" --warm hot 0 $((512 * page))
	for try in 1 2 3; do
		"$pages" --warm hot $((256 * page)) $((256 * page))
	done
	dd if=ahead of=/dev/null bs="$page" count=1 2>/dev/null
}
# seen: the heat of what was used once, thrice and never
seen() {
	run "$resident" --save=snap hot ahead
	echo "$(heat "$here/hot" 0 200) $(heat "$here/hot" 256 200) $(heat "$here/ahead" 1 1)"
}
if [ -r /proc/kpageflags ] && ! grep -q '[1-9]' /sys/kernel/mm/lru_gen/enabled 2>/dev/null; then
	for try in 1 2 3; do
		heated
		heat=$(seen)
		[ "$heat" != "1 2 0" ] || break
	done
	like "the heat of what was used once, thrice, never" "$heat" "1 2 *"
	ok "what was read ahead and not used is cold" [ "${heat#1 2}" != " 1" ]
	for try in 1 2 3; do
		again=$(seen)
	done
	is "looking at it does not change it" "$again" "$heat"
else
	skip "heat" "the kernel does not tell it, or has the multi-generational LRU"
fi
done_testing
