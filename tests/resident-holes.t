#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # with and run call functions
# resident --holes: the list of what is missing, to the byte
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
manual=$(cd "$(dirname "$0")/../cmd" && pwd -P)/resident.1
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
tab=$(printf '\t')

r() {
	"$resident" --holes "$@"
}

# hole FIRST COUNT NAME [BYTES]: the line for COUNT pages (and so many bytes) from FIRST on
hole() {
	printf '%s:%s\t%s\n' $(($1 * page)) $(($2 * page + ${4:-0})) "$3"
}

# lists NAME "LINES" FILE "RUN..." COMMAND...: these lines and no others, and no message
lists() {
	lists_name=$1
	lists_wanted=$2
	shift 2
	with "$@"
	is "$lists_name" "$status:$err:$out" "0::$lists_wanted"
}

### Ranges

file f 64 100
lists "a file wholly missing is one range" "$(hole 0 64 f 100)" f "" r f
lists "one wholly there prints nothing" "" f "0+65" r f
lists "what is missing, to the last byte" "$(hole 0 8 f; hole 24 16 f; hole 41 23 f 100)" \
	f "8+16 40+1" r f
lists "the last page is there" "$(hole 0 64 f)" f "64+1" r f
lists "all but the last page" "$(hole 64 0 f 100)" f "0+64" r f
lists "one page" "$(hole 7 1 f)" f "0+7 8+57" r f
lists "a range" "$(hole 6 2 f; hole 10 3 f)" f "8+2" r -p $((6 * page)):$((7 * page)) f
lists "a range within pages is clipped to it" \
	"$((6 * page + 5)):$((2 * page - 5))${tab}f
$((10 * page)):3${tab}f" f "8+2" r -p $((6 * page + 5)):$((4 * page - 2)) f
lists "a range past the end" "" f "" r -p 1G f
: >empty
lists "an empty file prints nothing" "" f "" r empty
lists "mincore is asked: without cachestat the same" "$(hole 0 8 f; hole 9 55 f 100)" f "8+1" \
	"$enosys" cachestat -- "$resident" --holes f
file large 20000
lists "ranges across the steps of the look are one" \
	"$(hole 0 8190 large; hole 8195 11805 large)" large "8190+5" r large

# what the list says is what is missing: with it read, nothing is
with f "3+4 9+1 11+30" r f
printf '%s\n' "$out" | while IFS=:"$tab" read -r offset length name; do
	"$pages" --warm "$name" "$offset" "$length"
done
is "with all that read, the file is in memory" "$("$pages" f)" 65/65

### Files

mkdir -p tree/b tree/a.d void
for name in tree/z tree/b/y tree/b/x tree/a tree/a.d/w; do
	file "$name" 1
done
lists "folders: in the order of the names" "$(for name in a a.d/w b/x z; do hole 0 1 tree/$name; done)" \
	tree/b/y "0+1" r tree
lists "operands: in their order, folders or not, and no total" \
	"$(hole 0 1 tree/z; hole 0 1 tree/a)" tree/b/y "0+1" r tree/z void tree/a tree/b/y
is "nothing else with -v" "$(r -v tree | wc -l)" 4
printf 'tree/z\ntree/a\n' >list
lists "a list" "$(hole 0 1 tree/z; hole 0 1 tree/a)" tree/b/y "0+1" r -T list
ln tree/z tree/zz
is "a hard link is listed once" "$(r tree | grep -c tree/z)" 1
is "--count-links: each" "$(r --count-links tree | grep -c tree/z)" 2
run r missing tree/a
is "an operand that is missing" "$status:$err:$out" \
	"1:resident: missing: No such file or directory:$(hole 0 1 tree/a)"
with f "0+32" r --min 90 f
like "--min holds here too" "$status:$out" "2:*"

### Output

run r -o report tree
is "-o: standard output" "$status:$out$err" "0:"
is "-o: the report" "$(cat report)" "$(r tree)"
run r -o report missing
is "-o: where nothing could be looked at the old report stays" "$status:$(cat report)" \
	"2:$(r tree)"
"$pages" --warm f 0 $((65 * page))
with f "0+65" r -o report f
is "-o: nothing is missing" "$status:$(wc -c <report)" 0:0
status=0
r tree >/dev/full 2>full.err || status=$?
like "a full disk" "$status:$(cat full.err)" "2:resident: *No space left*"

{ sleep 0.1; piped=0; r tree 2>pipe.err || piped=$?; echo "$piped" >pipe.status; } | :
is "a closed pipe" "$(cat pipe.status):$(cat pipe.err)" "141:"

### Names

for escaped in 'tab\ttab' 'esc\033[31m' 'bad\377\376' 'back\\\\slash' ' ' '#x' 'a:b' '\302\233c1'; do
	# shellcheck disable=SC2059 # the escapes are meant
	name=$(printf "$escaped")
	file "$name" 1
	lists "the name as it is: $(printf %s "$escaped" | tr '\134' /)" "$(hole 0 1 "$name")" f "" r "$name"
done
name=$(printf 'esc\033[31m')
if command -v script >/dev/null; then
	run on_terminal "'$resident' --holes esc*"
	is "a terminal has it escaped" "$out" "0:$page${tab}esc\\x1b[31m"
else
	skip "a terminal has it escaped" "needs script"
fi
mkdir hostile
name=hostile/$(printf 'new\nline')
for each in hostile/a "$name" hostile/z; do
	file "$each" 1
done
run r hostile
is "a newline: the name is left out, and the others are not" "$status:$out" \
	"1:$(hole 0 1 hostile/a; hole 0 1 hostile/z)"
is "a newline: what would hold it" "$err" \
	"resident: hostile/new\\nline: left out: only a list whose names end with NUL (-0) holds it"
run r -o report hostile
is "a newline: the report has the others" "$status:$(cat report)" \
	"1:$(hole 0 1 hostile/a; hole 0 1 hostile/z)"
r -0 hostile >nul 2>nul.err
is "-0: status" $? 0
printf "0:$page\t%s\0" hostile/a "$name" hostile/z >wanted
ok "-0: each ends with NUL, and no newline follows" cmp nul wanted
is "-0: no message" "$(cat nul.err)" ""
printf '%s\0' "$name" >list
r -0 -T list >nul
printf "0:$page\t%s\0" "$name" >wanted
ok "-0 with a list: both" cmp nul wanted
lists "a name with a newline that is in memory is no error" "" "$name" "0+1" r "$name"

### Usage

for wrong in "-f tsv" "-f kv" "-f json" "-f prom" --map --owner "--depth 1" "--sort path" "--rows 1" \
	"--columns path" --diff=snap --save=snap; do
	# shellcheck disable=SC2086 # words
	run r $wrong f
	like "not with $wrong" "$status:$out:$err" "3::resident: *--holes*"
done
run "$resident" -0 f
is "-0 without a list or --holes: status" "$status" 3

file shrinking 2000
(while :; do truncate -s 0 shrinking && truncate -s 8M shrinking; done) &
truncater=$!
bad=0
for try in 1 2 3 4 5 6 7 8 9 10; do
	r shrinking >shrink.out 2>&1 || bad=$?
done
kill "$truncater"
is "a file that shrinks meanwhile" "$bad" 0

truncate -s 8G sparse
# shellcheck disable=SC3045 # every sh on Linux has ulimit -v
(ulimit -v 400000 && r sparse) >sparse.out 2>&1
is "8 GiB of nothing" "$?:$(cat sparse.out)" "0:0:8589934592${tab}sparse"
rm sparse

# the example of the manual, where the sum is more than an awk prints as a whole number
mkdir srv
truncate -s 5G srv/a srv/b
if command -v mandoc >/dev/null; then
	example=$(mandoc -Owidth=200 "$manual" | sed -n 's/^ *resident --holes .* | awk//p')
	run "$resident" --holes srv
	for awk in awk mawk gawk; do
		! command -v $awk >/dev/null ||
			is "the example of the manual adds up with $awk" \
				"$(printf '%s\n' "$out" | sh -c "$awk $example")" 10737418240
	done
else
	skip "the example of the manual" "needs mandoc"
fi
rm -r srv

if [ "$(id -u)" -eq 0 ]; then
	cp f others
	"$pages" --evict others
	run as_nobody "$resident" --holes others
	like "a file of others: nothing is known" "$status:$out:$err" \
		"1::resident: others: residency of 1 of 1 files is unknown*CAP_FOWNER*"
	mkdir lower upper work over
	file lower/low 8
	if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay over 2>mount.err; then
		on_exit "umount -l '$TMP/w/over'"
		lists "overlay" "$(hole 0 2 over/low; hole 5 3 over/low)" over/low "2+3" r over/low
	else
		skip "overlay" "$(cat mount.err)"
	fi
else
	skip "files of others, mounts" "needs root"
fi
done_testing
