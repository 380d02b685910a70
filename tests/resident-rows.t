#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resident: which rows there are, in which order, with which fields
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# part NAME PAGES RESIDENT: so many pages, of which the first RESIDENT are in memory
part() {
	file "$1" "$2"
	warm "$1" 0 "$3" "$2"
}

# build: a tree with so much in memory; the kernel may reclaim some at any time
build() {
	rm -rf tree
	mkdir -p tree/b/deep/deeper tree/c tree/empty
	part tree/a 4 4
	part tree/b/x 8 7
	part tree/b/deep/y 4 2
	part tree/b/deep/deeper/z 16 16
	part tree/c/1 4 0
	part tree/d 2 1
}

# rows ARGUMENTS...: the rows of a report as "resident/pages path", in one line
rows() {
	run "$resident" -f tsv "$@"
	out=$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { printf "%s%s/%s %s", (NR > 2 ? ", " : ""), $5, $4, $1 }')
}

# has NAME ROWS ARGUMENTS...: the tree is built again where something left meanwhile
has() {
	has_name=$1
	has_wanted=$2
	shift 2
	for try in 1 2 3; do
		rows "$@"
		[ "$out" != "$has_wanted" ] || break
		[ "$try" -eq 3 ] || build
	done
	is "$has_name" "$out $status" "$has_wanted 0"
}

build
has "-v: in the order of the names, then the operand" \
	"4/4 tree/a, 16/16 tree/b/deep/deeper/z, 2/4 tree/b/deep/y, 7/8 tree/b/x, 0/4 tree/c/1, 1/2 tree/d, 30/38 tree" \
	-v tree
rows -v --sort=none tree
is "--sort=none: the same rows" "$(printf '%s' "$out" | sed 's/, /\n/g' | sort | tr '\n' ',')" \
	"$(rows -v tree && printf '%s' "$out" | sed 's/, /\n/g' | sort | tr '\n' ',')"

has "--depth=1" "25/28 tree/b, 0/4 tree/c, 0/0 tree/empty, 30/38 tree" --depth=1 tree
has "--depth=2: a folder after those in it" \
	"18/20 tree/b/deep, 25/28 tree/b, 0/4 tree/c, 0/0 tree/empty, 30/38 tree" --depth=2 tree
has "--depth=9" \
	"16/16 tree/b/deep/deeper, 18/20 tree/b/deep, 25/28 tree/b, 0/4 tree/c, 0/0 tree/empty, 30/38 tree" \
	--depth=9 tree
has "--depth=0" "30/38 tree" --depth=0 tree
has "--depth with -v" \
	"4/4 tree/a, 7/8 tree/b/x, 7/8 tree/b, 0/4 tree/c/1, 0/4 tree/c, 1/2 tree/d, 0/0 tree/empty, 12/18 tree" \
	--depth=1 -v --exclude='deep*' tree
has "--depth of several operands" \
	"18/20 tree/b/deep, 25/28 tree/b, 0/4 tree/c, 4/4 tree/a" --depth=1 tree/b tree/c tree/a
printf 'tree/a\ntree/b\n' >list
has "--depth of a list: its folders have rows" "18/20 tree/b/deep, 25/28 tree/b, 29/32 list" \
	--depth=1 -T list
run du --apparent-size -B1 -d 2 tree
is "--depth has du's folders" \
	"$("$resident" -f tsv --depth=2 tree | awk -F '\t' 'NR > 1 { print $1 }' | sort)" \
	"$(printf '%s\n' "$out" | cut -f 2 | sort)"

has "--sort: the largest first, after the operand" \
	"30/38 tree, 16/16 tree/b/deep/deeper/z, 7/8 tree/b/x, 4/4 tree/a, 2/4 tree/b/deep/y, 1/2 tree/d, 0/4 tree/c/1" \
	--sort=resident tree
has "--sort=path" "30/38 tree, 4/4 tree/a, 16/16 tree/b/deep/deeper/z" --sort=path --rows=2 tree
has "--sort=ratio --depth" \
	"30/38 tree, 18/20 tree/b/deep, 25/28 tree/b, 0/4 tree/c, 0/0 tree/empty" \
	--sort=ratio --depth=2 tree
has "--rows: those with most in memory" \
	"30/38 tree, 16/16 tree/b/deep/deeper/z, 7/8 tree/b/x" --rows=2 tree
has "--rows: over all operands" \
	"4/4 tree/a, 25/28 tree/b, 16/16 tree/b/deep/deeper/z, 7/8 tree/b/x" --rows=2 tree/a tree/b
has "more --rows than there are" "1/2 tree/d" --rows=99 tree/d

# the order of many rows, and of the first of them, is sort(1)'s
mkdir many
i=0
while [ $i -lt 300 ]; do
	head -c $((i * 7919 % 997)) /dev/zero >many/$i
	i=$((i + 1))
done
sizes=$(for f in many/*; do wc -c <"$f"; done | sort -nr)
run "$resident" -f tsv --sort=size --columns=size many
is "--sort of many" "$(printf '%s\n' "$out" | sed 1,2d)" "$sizes"
for n in 1 2 7 299 300; do
	run "$resident" -f tsv --rows=$n --sort=size_bytes --columns=size_bytes many
	is "--rows=$n of many" "$(printf '%s\n' "$out" | sed 1,2d)" \
		"$(printf '%s\n' "$sizes" | head -n $n)"
done

### Fields

run "$resident" --columns=path,evicted,size,resident_pages tree/c
is "--columns: text" "$(printf '%s\n' "$out" | tr -s ' ' | head -n 1)" \
	"PATH EVICTED_PAGES SIZE RESIDENT_PAGES"
run "$resident" -f tsv --columns=ratio,path tree/d
is "--columns: tsv" "$out" "ratio	path
50.00	tree/d"
run "$resident" -f kv --columns=size tree/d
is "--columns: kv" "$out" "size_bytes=$((2 * page))"
run "$resident" -f json --columns=path,dirty tree/d
is "--columns: json" "$out" '{"path":"tree/d","dirty_bytes":0}'
run "$resident" -f prom --columns=path,size tree/d
is "--columns: prom" "$(printf '%s\n' "$out" | grep -v '^#')" \
	"hotset_resident_size_bytes{path=\"tree/d\"} $((2 * page))"
run "$resident" -f prom --columns=size tree/d tree/a
is "--columns: prom has the label in any case" "$(printf '%s\n' "$out" | grep -v '^#')" \
	"hotset_resident_size_bytes{path=\"tree/d\"} $((2 * page))
hotset_resident_size_bytes{path=\"tree/a\"} $(stat -c %s tree/a)"
if command -v promtool >/dev/null; then
	ok "--columns: prom: promtool has nothing against it" promtool check metrics <"$TMP/.out"
else
	skip "promtool check metrics" "needs promtool"
fi
for format in text json prom; do
	run "$resident" -f $format --columns=path,size,size_bytes tree/d
	is "--columns: twice the same, in $format" "$status:$out:$err" \
		"3::resident: --columns: size_bytes is given twice (see resident --help)"
done
run "$resident" -f prom --rows=1 tree
is "prom has the rows that were asked for" \
	"$(printf '%s\n' "$out" | grep -c '^hotset_resident_files{')" 2
run "$resident" -f prom -v tree
is "prom has none for -v" "$(printf '%s\n' "$out" | grep -c '^hotset_resident_files{')" 1

### Conditions

min() {
	min_wanted=$1
	shift
	run "$resident" -q -f kv "$@"
	is "--min: $*" "$status" "$min_wanted" || note "$err"
}
build
min 0 --min 0 tree/c
min 2 --min 0.01% tree/c
min 0 --min 100 tree/a
min 0 --min 50 tree/d
min 2 --min 50.01 tree/d
like "it says which, and how far" "$err" "resident: tree/d: 50.00% is in memory, --min asks for 50.01%"
min 2 --min 60 tree/a tree/d
mkdir void
min 0 --min 0 tree/empty
min 3 --min 1 tree/empty
like "nothing may be a mistake" "$err" \
	"resident: tree/empty: there is not a byte of which 1% could be in memory"
min 3 --min 100 tree/a void
like "no files" "$err" "resident: void: there is not a byte *"
min 0 --min 0% void
min 3 --min 1 --include='no such' tree
min 3 --min 1 -p 1G tree/a
min 3 --min 1 -T /dev/null
min 3 --min 1 -T /dev/null tree/a
ln tree/a void/link
min 0 --min 100 tree/a void
min 3 --min 100 --exclude link tree/a void
rm void/link
min 2 --min 1 nowhere
min 3 --min 1 tree/a nowhere
min 2 --min 100 tree/c nowhere

### Mistakes

for wrong in --sort=colour --sort= --columns= "--columns=size," --columns=size,colour --rows=x \
	--depth=-1 --depth=5000 --min=101 --min= "--rows=2 --sort=none"; do
	# shellcheck disable=SC2086 # two words
	run "$resident" $wrong tree
	is "$wrong is a mistake" "$status:$out" 3:
	like "$wrong: and it says so" "$err" "resident: *"
done

### Many

# a folder that is left by more levels than stay open
deep=deep
mkdir deep
i=0
while [ $i -lt 40 ]; do
	deep=$deep/f$i
	i=$((i + 1))
done
mkdir -p "$deep"
: >deep/f0/z
: >deep/f0/a
: >"$deep/last"
run "$resident" -f tsv -v --columns=path deep
is "order, and folders deeper than stay open" "$(printf '%s\n' "$out" | sed 1d)" "deep/f0/a
$deep/last
deep/f0/z
deep"

done_testing
