#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm: what it says it did is what mincore sees, within the budget
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
cp "$BUILD/warm" "$TMP" # where any user finds it
warm=$TMP/warm
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# figures: files size already read resident skipped failed, and the exit status
figures() {
	echo "$(value files) $(value size_bytes) $(value already_bytes) $(value read_bytes)" \
		"$(value resident_bytes) $(value skipped_bytes) $(value failed_files) $status"
}

# loads NAME "FIGURES" ARGUMENT...
loads() {
	loads_name=$1
	loads_wanted=$2
	shift 2
	run "$warm" -f kv "$@"
	is "$loads_name" "$(figures)" "$loads_wanted" || note "$err"
}

### What it does

file small 3 100
size=$((3 * page + 100))
cold small
loads "a small file" "1 $size 0 $size $size 0 0 0" small
is "mincore agrees" "$("$pages" small)" 4/4
is "it is all" "$(value ratio)" 100.00
is "and nothing is said" "$err" ""
like "it took a while" "$(value seconds):$(value bytes_per_s)" "[0-9]*.[0-9][0-9][0-9]:[1-9]*"

size=$((700 * page + 1))
file large 700 1
cold large
loads "a larger file" "1 $size 0 $size $size 0 0 0" large
is "mincore agrees" "$("$pages" large)" 701/701

warm large 100 300 701
loads "a file that is partly there: the rest is read" \
	"1 $size $((300 * page)) $((400 * page + 1)) $size 0 0 0" large
is "mincore agrees" "$("$pages" large)" 701/701

# one page missing of the middle, one of the end
warm large 0 350 701
"$pages" --warm large $((351 * page)) $((349 * page))
is "two pages are missing" "$("$pages" large)" 699/701
loads "two gaps" "1 $size $((699 * page)) $((page + 1)) $size 0 0 0" large

hot large
loads "what is there is not read again" "1 $size $size 0 $size 0 0 0" large
is "then there is no rate" "$(value bytes_per_s)" ""

cold large
loads "a range" "1 $((20 * page)) 0 $((20 * page)) $((20 * page)) 0 0 0" -p $((300 * page)):$((20 * page)) large
is "no page around it is read" "$("$pages" large)" 20/701
is "those pages" "$("$pages" --map large | cut -c 300-321)" 0111111111111111111110
loads "bytes within a page" "1 10 0 10 10 0 0 0" -p $((page - 5)):10 large
is "two more pages" "$("$pages" large)" 22/701

file large 700 1
warm large 1 1 701
loads "bytes across two pages, of which one is there" "1 10 5 5 10 0 0 0" --min 100 -p $((page - 5)):10 large
is "the other one came" "$("$pages" large)" 2/701

: >empty
loads "an empty file" "1 0 0 0 0 0 0 0" empty
is "has no ratio" "$(value ratio)" ""
loads "of which no part can be asked for" "1 0 0 0 0 0 0 3" --min 1 empty
like "which may be a mistake" "$err" "warm: empty: there is not a byte of which 1% could be in memory"
loads "but none" "1 0 0 0 0 0 0 0" --min 0 empty
loads "nor of no file" "0 0 0 0 0 0 0 3" --min 1 --include 'no such' .
loads "a dry run says so too" "0 0 0 0 0 0 0 3" --dry-run --min 1 -T /dev/null

truncate -s $((300 * page)) sparse
loads "a hole" "1 $((300 * page)) 0 $((300 * page)) $((300 * page)) 0 0 0" sparse
rm sparse
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/hotset.XXXXXX)
	on_exit "rm -rf $shm"
	head -c $((2 * page)) /dev/urandom >"$shm/sparse"
	truncate -s $((10 * page)) "$shm/sparse"
	loads "a hole in tmpfs does not come in" \
		"1 $((10 * page)) $((2 * page)) $((8 * page)) $((2 * page)) 0 0 1" "$shm/sparse"
	is "and it is said why" "$err" \
		"warm: 32K ($((8 * page)) bytes) are holes of files in tmpfs, which are not cached"
else
	skip "holes in tmpfs" "needs a writable /dev/shm"
fi

### Folders

mkdir tree tree/sub
for name in a b sub/c; do file tree/$name 4; done
cold tree/a tree/b tree/sub/c
loads "a folder and all below it" "3 $((12 * page)) 0 $((12 * page)) $((12 * page)) 0 0 0" tree
is "mincore agrees" "$("$pages" tree/a) $("$pages" tree/b) $("$pages" tree/sub/c)" "4/4 4/4 4/4"
cold tree/a tree/b tree/sub/c
loads "one at a time" "3 $((12 * page)) 0 $((12 * page)) $((12 * page)) 0 0 0" -j 1 tree
cold tree/a tree/b tree/sub/c
loads "what is selected" "1 $((4 * page)) 0 $((4 * page)) $((4 * page)) 0 0 0" --include c tree
is "and nothing else" "$("$pages" tree/a) $("$pages" tree/b) $("$pages" tree/sub/c)" "0/4 0/4 4/4"
cold tree/a tree/b tree/sub/c
run sh -c "find tree -type f | '$warm' -f kv -T -"
is "a list" "$(figures)" "3 $((12 * page)) 0 $((12 * page)) $((12 * page)) 0 0 0"

run "$warm" tree large
is "text: a row for each operand, and the total" \
	"$(printf '%s\n' "$out" | awk 'NR > 1 { print $1, $7, $NF }')" "3 100.00% tree
1 100.00% large
4 100.00% total"
run "$warm" -v -f tsv tree
is "-v: a row for each file as well" \
	"$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $2, $1 }' | sort)" "1 tree/a
1 tree/b
1 tree/sub/c
3 tree"
run "$warm" -v large
is "-v: a file that is an operand has one row" "$(printf '%s\n' "$out" | wc -l)" 2
like "-v tells the budget" "$err" "warm: budget *"

mkdir many
i=0
while [ $i -lt 300 ]; do
	i=$((i + 1))
	echo $i >many/$i
done
for name in many/*; do "$pages" --evict "$name"; done
run "$warm" -f kv many
is "many files" "$(value files) $(value resident_bytes) $(value ratio) $status" "300 1092 100.00 0"

### What fails

run "$warm" -f kv missing
is "a missing file" "$status:$out:$err" "2::warm: missing: No such file or directory"
hot large
run "$warm" -f kv missing large
is "a missing file among others" "$(value path):$(figures)" "large:1 $size $size 0 $size 0 0 1"
mkfifo fifo
run timeout 5 "$warm" fifo
is "a FIFO is not waited for" "$status:$err" "2:warm: fifo: not a file, folder or block device"
rm fifo
run "$warm" -j 0 large
is "no workers" "$status" 3
run "$warm" --budget 5x large
is "a budget of rubbish" "$status" 3
run "$warm" --min 101 large
is "more than all" "$status" 3
run "$warm" -0 large
is "-0 without a list" "$status" 3

for call in 'sendfile=EIO preadv=EIO pread64=EIO' sendfile sendfile=EIO readahead fadvise64 cachestat \
	cachestat=EPERM; do
	cold large small
	# shellcheck disable=SC2086 # several calls
	run "$enosys" $call -- "$warm" -f kv large small
	case $call in
	*pread64=EIO) like "$call is an error" "$status:$err" "[12]:*large: I/O error*" ;;
	*) is "without $call" "$status:$err:$("$pages" large) $("$pages" small)" "0::701/701 4/4" ;;
	esac
done
cold large
run "$enosys" mincore -- "$warm" -f kv large
like "without mincore nothing is claimed" "$status:$(value resident_bytes):$(value failed_files):$err" "[12]::1:warm: large: *"

if [ "$(id -u)" -eq 0 ]; then
	chmod 644 large
	cold large
	run as_nobody "$warm" -f kv large
	is "what the caller may not see is not claimed" "$(figures):$(value ratio)" "1     0 1 1:"
	like "and it is said why" "$err" "warm: large: 1 of 1 files cannot be measured: *CAP_FOWNER*"
	is "it is loaded even so" "$("$pages" large)" 701/701
	run as_nobody "$warm" -f kv --min 50 large
	is "whether --min holds cannot be told" "$status" 3
	chmod 600 large
	run as_nobody "$warm" -f kv large
	is "a file that may not be read" "$status:$out:$err" "2::warm: large: Permission denied"
else
	skip "files of others" "needs root"
fi

### Budget and --min

file first 200
file second 200
cold first second
run "$warm" --budget $((300 * page)) -j 1 -f tsv first second
is "what does not fit is not started" \
	"$(printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $1, $5, $6, $8 }'):$status" \
	"first $((200 * page)) $((200 * page)) 0
second 0 0 $((200 * page)):1"
like "it is said" "$err" "warm: 1 files not started, * ($((200 * page)) bytes): the budget is * ($((300 * page)) bytes), as given; --budget=*"
is "nothing of it is there" "$("$pages" first) $("$pages" second)" "200/200 0/200"
hot first
loads "what is there already takes nothing from the budget" \
	"1 $((200 * page)) $((200 * page)) 0 $((200 * page)) 0 0 0" --budget 0 first
loads "no budget" "1 $((200 * page)) 0 0 0 $((200 * page)) 0 1" --budget 0 second
if "$BUILD/resident" -f kv first | grep -q '^method=cachestat'; then
	cold second
	run "$enosys" mincore -- "$warm" -f kv --budget 0 second
	is "what is skipped is not measured once more" "$(figures)" \
		"1 $((200 * page)) 0 0 0 $((200 * page)) 0 1"
else
	skip "what is skipped is not measured once more" "needs cachestat (Linux 6.5)"
fi
loads "--min that does not hold" "1 $((200 * page)) 0 0 0 $((200 * page)) 0 2" --budget 0 --min 1 second
like "--min is explained" "$err" "warm: second: 0.00% is in memory, --min asks for 1%*"
{ echo first; echo second; } >both
run "$warm" -q -f kv --min 50 --budget 0 -T both
is "--min that holds, and a budget that leaves something out: 1" "$status" 1
loads "--min that holds" "1 $((200 * page)) 0 $((200 * page)) $((200 * page)) 0 0 0" --min 100 second

if has_cgroup; then
	truncate -s 512M huge
	"$pages" --evict huge
	in_cgroup 64M "$warm" -f kv huge
	is "512 MiB in a cgroup of 64 MiB: not started, not killed" "$(figures) $killed" \
		"1 536870912 0 0 0 536870912 0 1 0"
	like "the message names the cgroup and its limit" "$err" \
		"warm: 1 files not started, 512M (536870912 bytes): * of the limit of memory cgroup $group, 64M; --budget=*"
	"$pages" --evict huge
	in_cgroup 64M "$warm" -f kv --budget 600M huge
	resident=$(value resident_bytes)
	ok "with a larger budget it is read, and what stayed is told" \
		[ "${resident:-536870912}" -le 67108864 ]
	is "that is no success" "$status $killed" "1 0"
	ok "all that was read is told" [ "$(value read_bytes)" -ge 536870912 ]
	ok "that is within the budget" [ "$(value read_bytes)" -le $((600 << 20)) ]
	like "and it is said" "$err" "warm: * did not stay in memory: *"
	in_cgroup 64M "$warm" -f kv --budget 600M --min 90 huge
	is "nor is it 90 %" "$status $killed" "2 0"
	"$pages" --evict huge
	in_cgroup 64M "$warm" -f kv first second
	is "what fits is loaded in a cgroup" "$status" 0
	rm huge
else
	skip "memory cgroups" "needs root and a writable version 1 hierarchy"
fi

### Stopping

# a list whose end never comes
mkfifo names
sleep 30 >names &
writer=$!
on_exit "kill $writer"
{ echo first; echo second; } >names &
cold first second
"$warm" -f kv -T names >"$TMP/.out" 2>"$TMP/.err" &
pid=$!
sleep 0.5
kill -INT $pid
status=0
wait $pid || status=$?
out=$(cat "$TMP/.out")
is "SIGINT ends it, with the figures until then" "$(figures)" \
	"2 $((400 * page)) 0 $((400 * page)) $((400 * page)) 0 0 130"
hot first
hot second
{ echo first; echo second; } >names &
loads "the time limit too" "2 $((400 * page)) $((400 * page)) 0 $((400 * page)) 0 0 1" \
	-t 0.5 -T names
like "and it is said" "$err" "warm: not done within the time allowed (--timeout)*"
run "$warm" -t 0.3 -f kv -T names
is "with nothing loaded until then it is a failure" "$status:$out:$err" \
	"2::warm: not done within the time allowed (--timeout)"
echo old >report
{ echo first; echo second; } >names &
run "$warm" -t 0.5 -T names -o report
is "half a report does not replace a whole one" "$(cat report)" old

done_testing
