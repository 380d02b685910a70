#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm: what comes in by lists of ranges, snapshots and access logs is those pages, in that order
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
cp "$BUILD/warm" "$TMP"
warm=$TMP/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
here=$(pwd -P)
tab=$(printf '\t')

# figures: files size already read resident skipped failed, and the exit status
figures() {
	figures_all=
	for field in files size_bytes already_bytes read_bytes resident_bytes skipped_bytes failed_files; do
		figures_all="$figures_all$(value $field) "
	done
	echo "$figures_all$status"
}

# maps FILE...: which pages of them are in memory
maps() {
	for maps_file; do
		"$pages" --map "$maps_file"
	done
}

# brings NAME "FIGURES" "MAP..." "FILE..." ARGUMENT...: with all of these files cold, warm comes
# to these figures, and then these pages of them are in memory. Pages that the kernel reclaims
# meanwhile: again.
brings() {
	brings_name=$1 brings_figures=$2 brings_maps=$3 brings_files=$4
	shift 4
	for try in 1 2 3; do
		# shellcheck disable=SC2086 # words
		cold $brings_files
		run "$warm" -f kv "$@"
		# shellcheck disable=SC2086
		brings_got="$(figures) $(maps $brings_files | tr '\n' ' ')"
		[ "$brings_got" != "$brings_figures $brings_maps " ] || break
	done
	is "$brings_name" "$brings_got" "$brings_figures $brings_maps " || note "$err"
}

### Lists of ranges

file a 8 100
file b 4
{
	printf '%s:%s\ta\n' $((1 * page)) $((2 * page)) $((5 * page)) "$page"
	printf '0:%s\tb\n' "$page"
} >list
brings "ranges of two files" "2 $((4 * page)) 0 $((4 * page)) $((4 * page)) 0 0 0" \
	"011001000 1000" "a b" --ranges -T list
brings "from standard input" "2 $((4 * page)) 0 $((4 * page)) $((4 * page)) 0 0 0" \
	"011001000 1000" "a b" --ranges -T - <list
is "nothing is said" "$err" ""
printf 'b\n%s:%s\ta\n' $((8 * page)) "$page" >list
brings "a line without one is a whole file; a range is clipped to its file" \
	"2 $((4 * page + 100)) 0 $((4 * page + 100)) $((4 * page + 100)) 0 0 0" \
	"000000001 1111" "a b" --ranges -T list
printf '%s:%s\ta\n' "$page" $((3 * page)) 0 $((2 * page)) $((3 * page)) "$page" $((90 * page)) 5 >list
brings "ranges that overlap count once" "1 $((4 * page)) 0 $((4 * page)) $((4 * page)) 0 0 1" \
	"111100000" a --ranges -T list
printf '0:%s\ta\n0:%s\tb\n%s:%s\ta\n' "$page" "$page" "$page" "$page" >list
brings "a file that comes again is one more" "3 $((3 * page)) 0 $((3 * page)) $((3 * page)) 0 0 0" \
	"110000000 1000" "a b" --ranges -T list
printf '0:0\ta\n' >list
brings "an empty range is nothing" "1 0 0 0 0 0 0 0" "000000000" a --ranges -T list
printf '0:10\ta\n4:10\ta\n' >list
brings "bytes" "1 14 0 14 14 0 0 0" "100000000" a --ranges -T list
ln a link
{
	printf '0:%s\ta\n' "$page"
	printf '%s:%s\tlink\n' "$page" "$page"
} >list
brings "parts of hard links are not the same parts" \
	"2 $((2 * page)) 0 $((2 * page)) $((2 * page)) 0 0 0" "110000000" a --ranges -T list
rm link

# exactly what resident says is missing
for try in 1 2 3; do
	load a 2+1 4+2
	load b 1+1
	run sh -c "'$resident' --holes a b | '$warm' -f kv --ranges -T -"
	[ "$(maps a b | tr '\n' ' ')" != "111111111 1111 " ] || break
done
is "resident --holes | warm --ranges: what was missing, and no more" "$(figures)" \
	"2 $((9 * page + 100 - page)) 0 $((8 * page + 100)) $((8 * page + 100)) 0 0 0"
is "then nothing is" "$("$resident" --holes a b)" ""
run sh -c "'$resident' --holes a b | '$warm' -f kv --ranges -T -"
is "an empty list" "$(figures)" "0 0 0 0 0 0 0 0"

mkdir hostile
for escaped in 'new\nline' 'tab\ttab' '0:4096\tx' 'bad\377\376' 'esc\033[31m' '-dash' ' '; do
	# shellcheck disable=SC2059 # the escapes are meant
	file "hostile/$(printf -- "$escaped")" 3
done
cold hostile/*
"$resident" -0 --holes hostile >nul
run "$warm" -f kv -0 --ranges -T nul
is "names that hold anything, with -0" "$(figures)" \
	"7 $((21 * page)) 0 $((21 * page)) $((21 * page)) 0 0 0"
is "all of them are in memory" "$(maps hostile/* | sort -u)" 111
(
	cd hostile || exit 1
	cold "./0:4096${tab}x"
	printf './0:4096\tx\n' | "$warm" -q --ranges -T - >/dev/null
)
is "a name that looks like a range, as ./NAME" "$(maps "hostile/0:4096${tab}x")" 111
(
	cd hostile || exit 1
	cold "0:4096${tab}x"
	printf '0:4096\tx\n' | "$warm" -q -T - >/dev/null
)
is "without --ranges it is a name" "$(maps "hostile/0:4096${tab}x")" 111

cold a b
{
	printf '0:%s\ta\n' "$page" # and what is wrong
	printf '0:99999999999999999999\ta\n0:1\tmissing\n0:1\thostile\n0:1\t/dev/null\n0:1\t\n'
	printf '0:%s\tb\n' "$page"
} >list
run "$warm" -f kv --ranges -T list
is "wrong lines do not keep others from loading" "$(figures)" \
	"2 $((2 * page)) 0 $((2 * page)) $((2 * page)) 0 5 1"
is "each is told" "$err" "warm: 0:99999999999999999999\\ta: a range of it ends beyond 2^64 bytes
warm: missing: No such file or directory
warm: hostile: Is a directory
warm: /dev/null: not a file, folder or block device
warm: 0:1\\t: No such file or directory"
printf '0:%s\ta\n0:%s\tb\n' "$page" "$page" >list
brings "--exclude" "1 $page 0 $page $page 0 0 0" "100000000 0000" "a b" --ranges --exclude=b -T list
brings "-m" "1 $page 0 $page $page 0 0 0" "000000000 1000" "a b" --ranges -m $((8 * page)) -T list
{
	printf '0:%s\ta\n' $((2 * page))
	printf '%s:%s\ta\n' $((4 * page)) "$page"
} >list
brings "a part that does not fit is not started, one that does is" \
	"1 $((3 * page)) 0 $page $page $((2 * page)) 0 1" "000010000" a --budget "$page" --ranges -T list
like "it is said" "$err" "warm: 1 files not started or only in part, 8.0K ($((2 * page)) bytes): *"
run "$warm" --ranges a
is "--ranges without a list" "$status" 3
run "$warm" --ranges -p 0:1 -T list
is "--ranges with --range" "$status" 3
head -c 300 /dev/urandom >rubbish
run "$warm" --ranges -T rubbish
like "rubbish" "$status" "[12]"

### Snapshots

# entry NAME: how a snapshot begins what it has of a file
entry() {
	printf 'file\t%s\t%s/%s\n' "$(stat --printf '%d\t%i\t%s\t%.9Y' "$1")" "$here" "$1"
}

# in FIRST COUNT [HEAT]
part() {
	printf 'in\t%s\t%s%s\n' $(($1 * page)) $(($2 * page)) "${3:+$tab$3}"
}

# snapshot: puts title and end around standard input
snapshot() {
	awk -F '\t' 'BEGIN { print "hotset snapshot 1" } { print } $1 == "file" { files++ }
		$1 == "in" { bytes += $3 } END { printf "end\t%d\t%d\n", files, bytes }'
}

file a 8 100
file b 4
file c 4
for try in 1 2 3; do
	load a 1+2 4+1 8+1
	load b 0+4
	load c
	"$resident" -q --save=snap . >/dev/null
	before=$(maps a b c | tr '\n' ' ')
	[ "$before" != "011010001 1111 0000 " ] || break
done
is "before a snapshot" "$before" "011010001 1111 0000 "
bytes=$((7 * page + 100))
brings "what was in memory comes back, and nothing else" "2 $bytes 0 $bytes $bytes 0 0 0" \
	"011010001 1111 0000" "a b c" --restore=snap --include='[abc]'
is "the row is the snapshot's" "$(value path):$err" "snap:"
run "$warm" -f kv --restore=snap --include='[abc]'
is "once more: all is there" "$(figures)" "2 $bytes $bytes 0 $bytes 0 0 0"
cd / || exit 1
run "$warm" -f kv --restore="$here/snap" --include='[abc]'
is "from anywhere" "$(figures)" "2 $bytes $bytes 0 $bytes 0 0 0"
cd "$here" || exit 1

### The hottest first

file a 6
file b 6
file c 6
{
	entry a; part 0 1; part 1 1 2; part 2 1 1
	entry b; part 0 1 0; part 1 1 2; part 3 2 1
	entry c; part 0 6 1
} | snapshot >snap
of() {
	echo "$1 $((13 * page)) 0 $(($2 * page)) $(($2 * page)) $(((13 - $2) * page)) 0 $3"
}
brings "all heats: each file counts once, each byte too" "$(of 3 13 0)" \
	"111000 110110 111111" "a b c" --restore=snap
for jobs in 1 8; do
	brings "the hottest only, with $jobs jobs" "$(of 3 2 1)" "010000 010000 000000" "a b c" \
		-j $jobs --budget=$((2 * page)) --restore=snap
done
brings "of the next as much as there is room for, in order" "$(of 3 5 1)" \
	"011000 010110 000000" "a b c" -j 1 --budget=$((5 * page)) --restore=snap
is "files that did not wholly fit are counted once" "$err" \
	"warm: 3 files not started or only in part, 32K ($((8 * page)) bytes): the budget is 20K ($((5 * page)) bytes), as given; --budget=SIZE|PCT changes it"
brings "all but the coldest" "$(of 3 11 1)" "011000 010110 111111" "a b c" \
	-j 1 --budget=$((11 * page)) --restore=snap
{
	entry a; part 0 1 0
	entry b; part 0 1
	entry c; part 0 1 2147483647
} | snapshot >cold-and-hot
brings "a heat that is not known is cold; any number may be hot" \
	"3 $((3 * page)) 0 $((2 * page)) $((2 * page)) $page 0 1" "100000 000000 100000" "a b c" \
	-j 1 --budget=$((2 * page)) --restore=cold-and-hot
file many 40
{
	entry many
	i=0
	while [ $i -lt 40 ]; do
		part $i 1 $((40 - i))
		i=$((i + 1))
	done
} | snapshot >heats
brings "many heats" "1 $((40 * page)) 0 $((10 * page)) $((10 * page)) $((30 * page)) 0 1" \
	"1111111111000000000000000000000000000000" many -j 1 --budget=$((10 * page)) --restore=heats
brings "all of them" "1 $((40 * page)) 0 $((40 * page)) $((40 * page)) 0 0 0" \
	"1111111111111111111111111111111111111111" many --restore=heats
cold a b c
run "$warm" -f tsv -v -j 1 --restore=snap
is "-v: a row for each heat of a file; files and sizes add up" \
	"$(printf '%s\n' "$out" | awk -F '\t' -v page="$page" 'NR > 1 { print $2, $3 / page, $1 }')" \
	"1 1 $here/a
1 1 $here/b
0 1 $here/a
0 2 $here/b
1 6 $here/c
0 1 $here/a
0 1 $here/b
3 13 snap"

# hard links and paths that come twice
ln a link
{
	entry a; part 0 1 1
	entry link; part 1 1 2; part 2 1 1
	entry b; part 0 1
	entry b; part 3 1
} | snapshot >twice
brings "each link; of a path that comes twice, what comes last" \
	"3 $((4 * page)) 0 $((4 * page)) $((4 * page)) 0 0 0" "111000 000100" "a b" --restore=twice
rm link

### Files that are not what they were

touch -d '2001-01-01' a
file other 7
mv other b
rm c
mkdir c
{
	entry many; part 0 1
} | snapshot >plain
sed -i "s/^end.*//; /^$/d" snap
{
	cat snap
	printf 'file\t1\t2\t%s\t5.000000000\t%s/gone\n' $((8 * page)) "$here"; part 0 1; part 1 1 2
	printf 'file\t1\t2\t%s\t5.000000000\t%s/many/below\n' "$page" "$here"; part 0 1 1
	entry many; part 7 1
} | sed 1d | snapshot >changed
gone="warm: 2 files are gone since the snapshot, of which 12K ($((3 * page)) bytes) were in memory"
none=0000000000000000000000000000000000000000
one=0000000100000000000000000000000000000000
brings "files that changed are left out, others are not" \
	"1 $page 0 $page $page 0 5 1" "000000 0000000 $one" "a b many" --restore=changed
is "both are said in a sum, each file once" "$err" "$gone
warm: 3 files changed since the snapshot and were left out, of which 52K ($((13 * page)) bytes) were in memory; --changed=ranges or whole loads them"
brings "--changed=skip: the same" \
	"1 $page 0 $page $page 0 5 1" "000000 0000000 $one" "a b many" --changed=skip --restore=changed
brings "--changed=ranges: the same parts" \
	"3 $((8 * page)) 0 $((8 * page)) $((8 * page)) 0 3 1" "111000 1101100 $one" "a b many" \
	--changed=ranges --restore=changed
is "that is said, and what is no file any more" "$err" "$gone
warm: 1 files changed since the snapshot and were left out, of which 24K ($((6 * page)) bytes) were in memory; --changed=ranges or whole loads them
warm: 2 files changed since the snapshot: the same parts were loaded"
brings "--changed=whole: all of them, once" \
	"3 $((14 * page)) 0 $((14 * page)) $((14 * page)) 0 3 1" "111111 1111111 $one" "a b many" \
	--changed=whole --restore=changed
like "that is said" "$err" "*warm: 2 files changed since the snapshot: they were loaded whole"
run "$warm" -v --restore=changed
is "-v names them, once" "$(printf '%s\n' "$err" | grep -c "$here/")" 5
like "which are gone" "$err" "*warm: $here/gone: gone since the snapshot*"
: >b
brings "a file that is shorter now: what is left of the parts" "1 0 0 0 0 0 0 1" "" "b" \
	--changed=ranges --restore=changed --include=b
{
	printf 'file\t1\t2\t%s\t5.000000000\t%s/gone\n' $((8 * page)) "$here"; part 0 1; part 1 1 2
} | snapshot >lost
run "$warm" -f kv --restore=lost
is "nothing is left: that is a failure" "$status:$out:$err" \
	"2::warm: 1 files are gone since the snapshot, of which 8.0K ($((2 * page)) bytes) were in memory"
sed 's/^file\t[0-9]*/file\t4242/' plain >otherdev
brings "another device number, as after a boot, is no change" \
	"1 $page 0 $page $page 0 0 0" "1${none#0}" many --restore=otherdev
file same 4
for change in "of another inode" "of another size" "modified" "modified within a second"; do
	touch -d '2001-02-03 04:05:06.789' same
	{
		entry same; part 0 1
	} | snapshot >old
	case $change in
	*inode) cp -p same copy && mv copy same ;;
	*size) printf x >>same && touch -d '2001-02-03 04:05:06.789' same ;;
	modified) touch -d '2001-02-03 04:05:07.789' same ;;
	*) touch -d '2001-02-03 04:05:06.788' same ;;
	esac
	run "$warm" -f kv --restore=old
	like "changed: $change" "$status:$out:$err" "2::warm: 1 files changed since the snapshot *"
done
snapshot </dev/null >empty
run "$warm" -f kv --restore=empty
is "a snapshot of nothing" "$(figures):$err" "0 0 0 0 0 0 0 0:"

### Snapshots that are none

cold many
head -c $(($(wc -c <plain) - 5)) plain >half
run "$warm" -f kv --restore=half
is "one that is cut off: nothing is loaded" "$status:$out:$(maps many)" "2::$none"
like "it is said" "$err" "warm: half: not to be used: line 4: *"
sed '$d' plain >half
run "$warm" --restore=half
is "the end is missing" "$status:$err:$(maps many)" "2:warm: half: not to be used: line 4: the end is missing:$none"
run "$warm" --restore=rubbish
like "rubbish" "$status:$out:$err" "2::warm: rubbish: not to be used: line 1: *"
run "$warm" --restore=missing
is "none there" "$status:$out:$err" "2::warm: missing: No such file or directory"
mkfifo fifo
run timeout 5 "$warm" --restore=fifo
like "a FIFO is not waited for" "$status:$err" "2:warm: fifo: not a regular file*"
run timeout 5 "$warm" --restore=-
like "standard input is no file" "$status:$err" "2:warm: -: *"
run "$warm" -o report --restore=half
ok "no report is written" [ ! -e report ]

for wrong in "a" "-T list" "-p 0:1" "-x" "--changed=all"; do
	# shellcheck disable=SC2086 # words
	run "$warm" --restore=plain $wrong
	like "not with $wrong" "$status:$out:$err" "3::warm: *"
done
run "$warm" --changed=skip a
is "--changed without --restore" "$status" 3

if [ "$(id -u)" -eq 0 ]; then
	file secret 4
	chmod 600 secret
	chmod 644 many
	{
		entry secret; part 0 1; part 1 1 2
		entry many; part 0 1; part 2 1 1
	} | snapshot >others
	run as_nobody "$warm" -f kv --restore=others
	is "files of others, in several heats: each counts once" "$(figures)" "1     0 2 1"
	is "each is told once" "$err" "warm: $here/secret: Permission denied
warm: others: 1 of 1 files cannot be measured: the kernel tells it only to who owns or may write a file, or has CAP_FOWNER (such as root)"
else
	skip "files of others" "needs root"
fi

### Access logs

# get TIMES TARGET [STATUS [METHOD]]: so many lines of a log
get() {
	i=0
	while [ $i -lt "$1" ]; do
		i=$((i + 1))
		printf '192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "%s %s HTTP/1.1" %s 5 "http://x/" "y"\n' \
			"${4:-GET}" "$2" "${3:-200}"
	done
}

mkdir -p root/sub root/empty root/deep/er
file root/a 2
file root/b 3
file root/sub/c 4
file root/index.html 1
file root/sub/index.html 1
file "root/deep/er/s p" 1
file outside 5
all='root/a root/b root/sub/c root/index.html root/sub/index.html outside'
# served NAME "FIGURES" MAPS ARGUMENT...: brings, of what the log has
served() {
	served_name=$1 served_figures=$2 served_maps=$3
	shift 3
	brings "$served_name" "$served_figures" "$served_maps" "$all" --log=log --root=root "$@"
}
# size FILES PAGES: figures of what was all loaded
size() {
	echo "$1 $(($2 * page)) 0 $(($2 * page)) $(($2 * page)) 0 0 0"
}

{ get 1 /a; get 3 /b; get 2 /sub/c; } >log
served "the files that were requested" "$(size 3 9)" "11 111 1111 0 0 00000"
is "the row is the log's, and nothing is said" "$(value path):$err" "log:"
run "$warm" -f tsv -v -j 1 --log=log --root=root
is "-v: a row for each, the most requested first" \
	"$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { printf "%s ", $1 }')" \
	"root/b root/sub/c root/a log "
like "-v tells how many" "$err" "*warm: log: 6 requests for 3 files*"
{ get 1 /a; get 3 /b; get 2 /sub/c; } >log
served "a small budget: the most requested" \
	"3 $((9 * page)) 0 $((7 * page)) $((7 * page)) $((2 * page)) 0 1" \
	"00 111 1111 0 0 00000" -j 1 --budget=$((7 * page))
{ get 2 /sub/c; get 2 /a; get 2 /b; } >log
served "what came first of those requested as often" \
	"3 $((9 * page)) 0 $((6 * page)) $((6 * page)) $((3 * page)) 0 1" \
	"11 000 1111 0 0 00000" -j 1 --budget=$((6 * page))
{ get 1 /a; get 1 '/b?x=/../y&z'; get 1 '/b?w'; get 1 'http://example.com:80/b#part'; get 2 /sub/c; } >log
served "queries, fragments and whole addresses: one file" \
	"3 $((9 * page)) 0 $((3 * page)) $((3 * page)) $((6 * page)) 0 1" \
	"00 111 0000 0 0 00000" -j 1 --budget=$((3 * page))
{ get 1 /; get 1 /sub/; get 1 /empty/; get 1 /sub; } >log
served "a folder is its index" "$(size 2 2)" "00 000 0000 1 1 00000"
is "one without, and one without slash, are not there" "$err" \
	"warm: 2 requests were for 2 files that are not below root"
{ get 1 /a 206; get 1 /b 304; get 5 /sub/c 404; get 5 /sub/c 200 HEAD; get 5 /sub/c 301; get 5 /sub/c 200 POST; } >log
served "only what was got" "$(size 2 5)" "11 111 0000 0 0 00000"
is "the others are not worth a word" "$err" ""
{
	get 1 /../outside; get 1 /sub/../../outside; get 1 /%2e%2e/outside; get 1 /..%2foutside
	get 1 /.%2E/outside; get 1 /a%00; get 1 /a%0; get 1 /%zz; get 1 '*'
	get 1 "/sub/%2e%2e%2f%2e%2e%2foutside"; get 1 /b
} >log
served "nothing above the root, and no nonsense" "$(size 1 3)" "00 111 0000 0 0 00000"
is "that is said" "$err" "warm: log: 10 requests were for what can be no file below root"
get 1 "$here/outside" >log
served "the root is that of the server" "0 0 0 0 0 0 0 2" "00 000 0000 0 0 00000"
is "of nothing that is there" "$err" \
	"warm: 1 requests were for 1 files that are not below root
warm: root has none of the files that were requested: --root is the folder that the server has for /"
{ get 1 /deep/er/s%20p; get 1 /%73ub//./c; } >log
brings "escapes, slashes and points" "$(size 2 5)" "1 1111" "root/deep/er/s?p root/sub/c" \
	--log=log --root=root/
{ get 7 /gone; get 2 /gone/too; get 1 /a/below; get 1 /a; } >log
served "files that are not there" "$(size 1 2)" "11 000 0000 0 0 00000"
is "are said in a sum" "$err" "warm: 10 requests were for 3 files that are not below root"
{ echo rubbish; get 1 /a; head -c 2000 /dev/urandom | tr '\n' x; echo; echo '{"a": 1}'; head -c 100000 /dev/zero | tr '\0' x; echo; } >log
served "rubbish" "$(size 1 2)" "11 000 0000 0 0 00000"
is "is counted" "$err" "warm: log: 4 lines are not in the common or combined log format"
run "$warm" -f kv -q --log=log --root=root
is "-q" "$status:$err" "0:"
run "$warm" -f kv --log=rubbish --root=root
like "nothing but rubbish" "$status:$err" "2:*warm: rubbish: no line of it is of an access log"
: >log
run "$warm" -f kv --log=log --root=root
is "an empty log" "$(figures):$err" "0 0 0 0 0 0 0 0:"
get 1 /a >log
printf '192.0.2.7 - - [x] "GET /b HTTP/2.0" 200 -' >>log
cold root/a root/b
run sh -c "'$warm' -f kv --log=- --root=root <log"
is "standard input, whose last line has no end" "$(value path):$(figures)" "-:$(size 2 5)"

ln -s ../outside root/link
ln -s .. root/up
ln -s sub root/inside
mkfifo root/fifo
{ get 3 /link; get 2 /up/outside; get 1 /inside/c; get 1 /fifo; get 1 /a; } >log
served "links are not followed, and a FIFO not waited for" "$(size 1 2)" "11 000 0000 0 0 00000"
is "that is said" "$err" "warm: 1 requests were for 1 files that are not below root
warm: 6 requests were for 3 files behind symbolic links, which --follow follows"
{ get 3 /link; get 2 /up/outside; get 1 /inside/c; get 1 /a; } >log
served "-L follows them, and counts each file once" "$(size 3 11)" "11 000 1111 0 0 11111" -L
{ get 3 /a; get 2 /b; get 1 /sub/c; } >log
served "-m and --exclude" "$(size 1 2)" "11 000 0000 0 0 00000" -m $((3 * page)) --exclude='root/b'
{ get 3 /a; get 2 /b; } >log
served "a range of each" "$(size 2 2)" "01 010 0000 0 0 00000" -p "$page:$page"
ln -s root linked
get 1 /a >log
brings "the root may be a link" "$(size 1 2)" 11 root/a --log=log --root=linked

run "$warm" --log=missing --root=root
is "no log" "$status:$out:$err" "2::warm: missing: No such file or directory"
run "$warm" --log=log --root=missing
is "no root" "$status:$out:$err" "2::warm: missing: No such file or directory"
run "$warm" --log=log --root=outside
is "a root that is no folder" "$status:$out:$err" "2::warm: outside: Not a directory"
run "$warm" --log=. --root=root
is "a log that is a folder" "$status:$out:$err" "2::warm: .: Is a directory"
for wrong in "--log=log" "--root=root a" "--log=log --root=root a" "--log=log --root=root -x" \
	"--log=log --root=root -T list" "--log=log --root=root --restore=plain" \
	"--log=log --root=root -0"; do
	# shellcheck disable=SC2086 # words
	run "$warm" $wrong
	like "not $wrong" "$status:$out:$err" "3::warm: *"
done

# a log whose end never comes
mkfifo endless
sleep 30 >endless &
writer=$!
on_exit "kill $writer"
run timeout 5 "$warm" -t 0.3 --log=endless --root=root
like "the time limit ends the wait" "$status:$err" "[12]:*not done within the time allowed*"

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 root
	mkdir root/closed
	file root/closed/d 1
	chmod 700 root/closed
	get 1 /closed/d >log
	get 1 /a >>log
	chmod 644 root/a log
	run as_nobody "$warm" -f kv --log=log --root=root
	like "a folder that may not be entered" "$status:$(value failed_files):$err" \
		"1:2:warm: root/closed/d: Permission denied*"
else
	skip "a folder that may not be entered" "needs root"
fi

done_testing
