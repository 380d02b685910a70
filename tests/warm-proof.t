#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm: what it says is in memory is there when it ends, not only when each file had come
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
warm=$BUILD/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
has_cgroup || skip_all "needs root and a writable version 1 hierarchy of memory cgroups"

mkdir set
for name in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16; do file set/$name $((4 << 20 >> 12)); done
file neighbour $((48 << 20 >> 12))
size=$((16 * (4 << 20 >> 12) * page))
freeze() {
	for name in set/* neighbour; do "$pages" --evict "$name"; done
}
# seen FILE...: bytes of them that mincore sees
seen() {
	for name; do "$pages" "$name"; done | awk -F / -v page="$page" '{ n += $1 } END { print n * page }'
}
# ends NAME LIMIT COMMAND...: in a cgroup of LIMIT: RESIDENT in the end is what mincore sees then;
# a kernel thread may take a page between the two looks
ends() {
	ends_name=$1
	shift
	for try in 1 2 3 4 5; do
		freeze
		in_cgroup "$@"
		there=$(seen set/*)
		out=$(printf '%s\n' "$out" | awk -v RS= '{ last = $0 } END { print last }')
		[ "$(value resident_bytes)" != "$there" ] || break
	done
	is "$ends_name ($try tries)" "$(value resident_bytes)" "$there" || note "$err"
	ok "$ends_name: some has left" [ "$there" -lt "$size" ]
}

### What comes later pushes out what came first

ends "more files than the cgroup holds" 32M "$warm" -f kv --budget=400M set
is "all were read" "$(value read_bytes)" "$size"
is "that is no success" "$status" 1
like "and it is said" "$err" "warm: * did not stay in memory: *"
ends "with --min" 32M "$warm" -f kv --budget=400M --min=80 set
is "--min does not hold" "$status" 2
like "and it is said how much is there" "$err" "warm: set: [1-5]?.??% is in memory, --min asks for 80%*"
ends "with a small --min" 32M "$warm" -f kv --budget=400M --min=5 set
is "that holds" "$status" 0
like "what has left is said all the same" "$err" "warm: * did not stay in memory"
ends "-v" 32M "$warm" -v -f kv -j 1 --budget=400M set
like "-v names what has left" "$err" "*
warm: set/0?: *([1-4]?????? bytes) have left memory again
*"

# rows: RESIDENT of each operand
rows() {
	printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $1, $6 }'
}
for try in 1 2 3 4 5; do
	freeze
	# shellcheck disable=SC2046 # no spaces in these
	in_cgroup 32M "$warm" -f tsv -j 1 --budget=400M set/*
	wanted=$(for name in set/*; do echo "$name $(seen "$name")"; done)
	[ "$(rows)" != "$wanted" ] || break
done
is "the row of each operand is about the end, too ($try tries)" "$(rows)" "$wanted"
like "of the last nothing has left" "$wanted" "*
set/16 4194304"
ok "and of the first some" [ "$(seen set/01)" -lt 4194304 ]
for name in set/*; do echo "$name"; done >list
# shellcheck disable=SC2016 # the inner shell's
ends "a list on standard input" 32M sh -c 'exec "$0" -f kv --budget=400M -T - <list' "$warm"
for name in set/*; do printf '0:%d\t%s\n' $((2 << 20)) "$name"; done >ranges
freeze
in_cgroup 16M "$warm" -f kv --budget=400M --ranges -T ranges
ok "ranges" [ "$(value resident_bytes)" -le $((16 << 20)) ]
is "of which all were read" "$(value read_bytes) $status" "$((32 << 20)) 1"

### Other ways to it

for name in set/*; do hot "$name"; done
"$BUILD/resident" -q --save=snapshot set >/dev/null
ends "--restore" 32M "$warm" -f kv --budget=400M --restore=snapshot
is "--restore is no success" "$status" 1
ends "--restore with --min" 32M "$warm" -f kv --budget=400M --min=90 --restore=snapshot
is "--min does not hold for it" "$status" 2
for name in set/*; do
	echo "host - - [01/Jan/2026:00:00:00 +0000] \"GET /${name#set/} HTTP/1.1\" 200 1"
done >log
ends "--log" 32M "$warm" -f kv --budget=400M --log=log --root=set

### A neighbour

# shellcheck disable=SC2016 # the inner shell's
# beside it, once some has come, somebody reads twice what else there is room for
ends "a neighbour in the same cgroup" 80M sh -c \
	'(sleep 1; cat neighbour neighbour >/dev/null) & "$0" -f kv --rate=24M --budget=70M set; status=$?
	wait; exit $status' "$warm"
is "a neighbour: that is no success" "$status" 1

### Files that are others in the end

mkdir few
for name in a b c d; do file few/$name 8; done
# replaced: while the file that is read slowly comes, the others change
replaced() {
	for name in few/* set/01; do "$pages" --evict "$name"; done
	(
		sleep 0.5
		rm few/a
		cp few/b few/new
		mv few/new few/b
		truncate -s $((3 * page)) few/c
	) &
	run "$warm" -v -f kv -j 1 --rate=4M few set/01
	wait
}
replaced
is "what was removed, replaced or cut is not in memory" \
	"$(printf '%s\n' "$out" | awk -v RS= '/path=few\n/' | sed -n 's/^resident_bytes=//p') $status" \
	"$((11 * page)) 1"
is "each is named" "$(printf '%s\n' "$err" | sed -n 's/.*\(few.*\): shorter, replaced or gone since .*/\1/p' |
	sort | paste -s -d ' ')" "few/a few/b few/c"
like "and it is said" "$err" "*warm: * ($((21 * page)) bytes) are not there any more: *"

### Where it is looked at again

# a path longer than one call takes
name=$(printf '%0200d' 0)
(
	cd set && i=0
	while [ "$i" -lt 30 ]; do
		mkdir "$name" && cd -P "$name" || exit 1
		i=$((i + 1))
	done
	head -c $((2 * page)) /dev/zero >deep
)
run "$warm" -f kv "set/$name"
is "a path longer than PATH_MAX" "$(value files) $(value resident_bytes) $(value failed_files) $status" \
	"1 $((2 * page)) 0 0"
ln -s set/01 link
run "$warm" -f kv link
is "a link" "$(value resident_bytes) $(value failed_files) $status" "$((4 << 20)) 0 0"
run "$warm" --dry-run -f kv --min=0 set
is "a dry run looks once" "$status" 0

### What is given several times is read for the first

file again 73
wrong=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$pages" --evict again
	run "$warm" -f tsv again again ./again
	printf '%s\n' "$out" | awk -F '\t' 'NR > 1 && $5 != $12 { wrong = 1 } END { exit wrong }' ||
		wrong=$((wrong + 1))
done
is "READ is what was MISSING" "$wrong" 0 || note "$out"

### A stop in the middle of a large file

truncate -s 200G sparse
# stopped PAGES: with so many in memory before; what is there then, mincore sees
stopped() {
	for try in 1 2 3 4 5; do
		"$pages" --evict sparse
		[ "$1" -eq 0 ] || "$pages" --warm sparse 0 $(($1 * page))
		in_cgroup 64M "$warm" -f kv -t 1 --budget=400G sparse
		there=$("$resident" -f kv sparse | sed -n 's/^resident_bytes=//p')
		[ "$(value resident_bytes)" != "$there" ] || break
	done
	is "$1 pages before: what was read is told ($try tries)" \
		"$(value size_bytes) $(value already_bytes) $(value failed_files) $status:$err" \
		"$((200 << 30)) $(($1 * page)) 0 1:warm: not done within the time allowed (--timeout)"
	is "$1 pages before: and what of it is there" "$(value resident_bytes)" "$there"
	ok "$1 pages before: which is some" [ "$there" -gt 0 ]
}
stopped 0
ok "some was read" [ "$(value read_bytes)" -ge "$there" ]
stopped 100
rm sparse

done_testing
