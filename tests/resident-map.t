#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # with and run call functions
# resident --map: what is drawn is what is in memory, part for part
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# r COLUMNS ARGUMENTS...
r() {
	r_columns=$1
	shift
	COLUMNS=$r_columns "$resident" --map "$@"
}

# maps: the maps alone, of the report in $out
maps() {
	printf '%s\n' "$out" | grep -E '^(\[|unknown$)' || printf '%s\n' "$out"
}

# draws NAME "MAPS" FILE "RUN..." COMMAND...
draws() {
	draws_name=$1
	draws_wanted=$2
	shift 2
	with "$@"
	is "$draws_name" "$status:$(maps)" "0:$draws_wanted" || note "$err"
}

### Cells

file even 64
runs="0+4 8+1 13+2 16+3 60+4"
draws "none, some, most, all" "[# .++          #]" even "$runs" r 18 even
draws "a cell a page where there is room" \
	"[####    #]" even "0+4 8+1" r 200 -p "0:$((8 * page + 1))" even
file few 4 1
draws "fewer pages than cells" "[# #  ]" few "0+1 2+1" r 80 few
draws "the last page, of one byte" "[    #]" few "4+1" r 80 few
draws "all but the last" "[#### ]" few "0+4" r 80 few
file uneven 10 100 # parts of 2, 3, 3, 3 pages
draws "parts of unequal size: full" "[### ]" uneven "0+8" r 6 uneven
draws "parts of unequal size: one page is missing" "[+.+#]" uneven "0+1 4+1 5+2 8+3" r 6 uneven
draws "a single cell: some" "[.]" even "5+1" r 3 even
draws "a single cell: most" "[+]" even "0+63" r 3 even
draws "a single cell: all" "[#]" even "0+64" r 3 even
draws "a line without room has one cell" "[+]" even "0+63" r 1 even
draws "none at all" "[    ]" even "" r 6 even
: >empty
draws "an empty file" "[]" few "" r 80 empty
draws "a range" "[ ## ]" even "9+2" r 80 -p $((8 * page)):$((4 * page)) even
draws "a range that cuts pages" "[ ## ]" even "9+2" r 80 -p $((9 * page - 1)):$((2 * page + 2)) even
draws "a range past the end" "[]" even "0+64" r 80 -p 1G even
for how in cachestat cachestat=EPERM; do
	draws "$how fails: the same by mincore" "[# .++          #]" even "$runs" \
		env COLUMNS=18 "$enosys" "$how" -- "$resident" --map even
done
draws "neither way: unknown" "unknown" even "0+64" \
	sh -c '"$@" || [ $? -eq 1 ]' sh "$enosys" cachestat mincore=ENOMEM -- "$resident" --map even

### Width

file wide 780
for columns in '' 0 nonsense -5; do
	draws "COLUMNS=$columns: 80 characters without a terminal" \
		"[##########$(printf '%67s' '')#]" wide "0+100 770+10" r "$columns" wide
done
with wide "0+780" env -u COLUMNS "$resident" --map -o report wide
is "-o FILE: 80 characters" "$status:$(tail -n 1 report | wc -c)" 0:81
if command -v script >/dev/null; then
	with even "$runs" on_terminal "stty cols 18; unset COLUMNS; exec '$resident' --map even"
	is "as wide as the terminal" "$(maps)" "[# .++          #]"
	with even "$runs" on_terminal "stty cols 50; COLUMNS=18 exec '$resident' --map even"
	is "COLUMNS before the terminal's width" "$(maps)" "[# .++          #]"
else
	skip "as wide as the terminal" "needs script"
fi

### Rows

mkdir tree tree/sub
file tree/a 4
file tree/b 2
file tree/sub/c 3
"$pages" --warm tree/b 0 $((2 * page))
run r 80 tree
is "no map of a folder" "$status:$(printf '%s\n' "$out" | wc -l)" 0:2

# below: PATH MAP, of each row that has one
below() {
	printf '%s\n' "$out" | awk '/^\[/ { print path, $0; next } { path = $NF }'
}
with tree/b "0+2" r 80 -v tree
is "-v: below the row of each file" "$(below)" "tree/a [    ]
tree/b [##]
tree/sub/c [   ]"
is "-v: no line more" "$(printf '%s\n' "$out" | wc -l)" 8
with tree/b "0+2" r 80 tree/a tree tree/b
is "operands: those that are files, not folders, not the total" "$(below)" "tree/a [    ]
tree/b [##]"
with tree/b "0+2" r 80 --sort resident tree
is "--sort: each map stays with its row" "$(below | head -n 1):$(below | wc -l)" "tree/b [##]:3"
with tree/b "0+2" r 80 --rows 1 tree
is "--rows: only those" "$(below)" "tree/b [##]"
with tree/b "0+2" r 80 --rows 1 --sort path tree
is "--rows: the first one" "$(below)" "tree/a [    ]"
with tree/b "0+2" r 80 -v --depth 1 tree
is "--depth: folders have none" "$(below | wc -l)" 3
with tree/b "0+2" r 80 --columns ratio,path tree/b
is "--columns" "$(below)" "tree/b [##]"
printf 'tree/b\nlist\n' >list
with tree/b "0+2" r 80 -v -T list
is "a list: its files, also one called as the list is, and not the list" "$(below)" "tree/b [##]
list [#]"
with tree/b "0+2" r 80 -T list
is "a list without -v" "$(below)" ""
ln tree/b tree/link
with tree/b "0+2" r 80 tree/b tree/link
is "a hard link that counted already has no map" "$(below)" "tree/b [##]"
name=$(printf 'new\nline\033[31m')
file "$name" 2
with "$name" "1+1" r 80 "$name"
is "a hostile name" "$(below)" 'new\nline\x1b[31m [ #]'
run r 80 missing tree/b
like "an operand that is missing" "$status:$(below)" "1:tree/b *"

truncate -s 1T sparse
# shellcheck disable=SC3045 # every sh on Linux has ulimit -v
(ulimit -v 60000 && r 12 sparse) >sparse.out 2>&1
is "1 TiB takes no memory" "$?:$(tail -n 1 sparse.out)" "0:[          ]"
truncate -s 10G sparse
run "$enosys" cachestat -- env COLUMNS=12 "$resident" --map sparse
is "10 GiB by mincore" "$status:$(maps)" "0:[          ]"
rm sparse

file shrinking 2000
(while :; do truncate -s 0 shrinking && truncate -s 8M shrinking; done) &
truncater=$!
bad=0
for try in 1 2 3 4 5 6 7 8 9 10; do
	r 80 shrinking >shrink.out 2>&1 && "$enosys" cachestat -- "$resident" --map shrinking >shrink.out 2>&1 || bad=$?
done
kill "$truncater"
is "a file that shrinks meanwhile" "$bad" 0

### Usage

for wrong in "-f tsv" "-f json" --holes --owner --diff=snap; do
	# shellcheck disable=SC2086 # words
	run r 80 $wrong even
	like "not with $wrong" "$status:$out:$err" "3::resident: *--map*"
done

### Files of others

if [ "$(id -u)" -eq 0 ]; then
	cp few others
	for how in cachestat cachestat=EPERM; do
		run as_nobody "$TMP/enosys" $how -- "$resident" --map others
		is "$how fails: the file of others" "$status:$(maps)" "1:unknown"
	done
	mkdir lower upper work over
	file lower/low 8
	if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay over 2>mount.err; then
		on_exit "umount -l '$TMP/w/over'"
		draws "overlay" "[  ###   ]" over/low "2+3" r 80 over/low
	else
		skip "overlay" "$(cat mount.err)"
	fi
	mkdir huge
	if mount -t tmpfs -o huge=always,size=64M tmpfs huge 2>mount.err ||
		mount -t tmpfs tmpfs huge 2>mount.err; then
		on_exit "umount -l '$TMP/w/huge'"
		head -c 4800000 /dev/zero >huge/file
		run r 10 huge/file
		is "tmpfs with huge pages" "$status:$(maps)" "0:[########]"
		run r 10 -p 0:"$page" huge/file
		is "a page of a huge one" "$status:$(maps)" "0:[#]"
	else
		skip "tmpfs" "$(cat mount.err)"
	fi
else
	skip "files of others, mounts" "needs root"
fi
done_testing
