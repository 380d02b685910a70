#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# lock: a second after whatever happens to a file, what is pinned is what is there
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lock.sh
. "$(dirname "$0")/lock.sh"
need fallocate pgrep

# a second NAME...: what is left of each, a second later, after an eviction
second() {
	sleep 1
	for second_name; do
		[ "$second_name" = "$1" ] || printf ' '
		printf '%s' "$(left "$second_name")"
	done
}

# told: what lock has said since it was started, without figures of bytes as people read them
told() {
	sed 's/^lock: //; s/: [0-9.]*[KMG]* (\([0-9]*\) bytes)/: \1/' "$TMP/.err"
}

### Nothing happens to what is pinned

file a 20
start a
cat a >/dev/null
dd if=/dev/urandom of=a bs="$page" count=5 seek=3 conv=notrunc status=none
is "read, and written to: it stays" "$(second a)" 20/20
stop
is "nothing was lost" "$status:$(row 2):$(told)" "143:1 $((20 * page)) 0 0 $((20 * page)) 0 released:"

### Pages go, of the same file

file a 20
start a
if dd if=/dev/zero of=a bs=$((4 * page)) count=1 seek=2 conv=notrunc oflag=direct status=none 2>/dev/null; then
	is "written to around the cache: what was lost is pinned again" "$(second a)" 20/20
	stop
	lost=$(value lost_bytes 2)
	is "which is counted" "$(row 2)" "1 $((20 * page)) 0 $lost $((20 * page)) $lost released"
	# the kernel drops whole folios, which may be larger
	ok "it was that much at least" [ "$lost" -ge $((4 * page)) ]
else
	stop
	skip "written to around the cache" "the file system has no O_DIRECT"
fi
file a 20
start a
if fallocate -p -o $((4 * page)) -l $((3 * page)) a 2>/dev/null; then
	is "a hole is punched: that is pinned again" "$(second a)" 20/20
	stop
	is "which is counted" "$(row 2):$(told)" \
		"1 $((20 * page)) 0 $((3 * page)) $((20 * page)) $((3 * page)) released:lost: $((3 * page)) of a
pinned again: $((3 * page)) of a"
else
	stop
	skip "a hole is punched" "the file system has none"
fi
file a 20
start a
: >a
head -c $((20 * page)) /dev/urandom >a
is "emptied, and written again" "$(second a)" 20/20
stop
is "all was lost, and pinned again" "$(row 2)" \
	"1 $((20 * page)) 0 $((20 * page)) $((20 * page)) $((20 * page)) released"
file a 20
start a
truncate -s $((6 * page + 1)) a
is "shrunk: the rest is pinned" "$(second a)" 7/7
head -c $((9 * page)) /dev/urandom >>a
is "grown: so is what came" "$(second a)" 16/16
is "no more is locked than there is" "$(awk '/^VmLck/ { print $2 * 1024 }' /proc/$pid/status)" \
	$((16 * page))
stop
is "what was asked for has changed with it" "$(row 2)" \
	"1 $((16 * page)) 0 $((13 * page)) $((16 * page)) $((9 * page)) released"

### Another file of the same name

file a 20
start a
exec 9<a
head -c $((7 * page)) /dev/urandom >new
mv new a
is "replaced: the new file is pinned, the dead one is not" "$(second a /dev/fd/9)" "7/7 0/20"
exec 9<&-
stop
is "it was released, the new one pinned again" "$(row 2)" \
	"1 $((7 * page)) 0 0 $((27 * page)) $((7 * page)) released"
# overlayfs copies a file up before it is first changed: to stat(2) it stays the same
mkdir lower upper work
file lower/a 20
sleep 0.1
if mounted merged -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay; then
	start merged/a
	exec 9<lower/a
	is "a file of a lower layer" "$(left merged/a) $(left /dev/fd/9)" "20/20 20/20"
	head -c $((3 * page)) /dev/urandom >>merged/a
	is "written to: the copy is pinned, the lower one is not" "$(second merged/a /dev/fd/9)" \
		"23/23 0/20"
	exec 9<&-
	head -c "$page" /dev/urandom >>merged/a
	is "and once more" "$(second merged/a)" 24/24
	stop
	is "it was released once" "$(row 2)" \
		"1 $((24 * page)) 0 0 $((44 * page)) $((20 * page)) released"
else
	skip "a file of a lower layer" "needs root, and overlayfs above TMPDIR"
fi
file a 5
start a
exec 9<a
rm a
is "deleted: it is let go" "$(second /dev/fd/9)" 0/5
exec 9<&-
is "nothing is locked" "$(awk '/^VmLck/ { print $2 }' /proc/$pid/status)" 0
head -c $((3 * page)) /dev/urandom >a
is "there again: it is pinned" "$(second a)" 3/3
stop
file b1 3
file b2 4
ln -s b1 link
start link
ln -s b2 link2
mv link2 link
is "a link leads elsewhere: that is pinned, the other let go" "$(second link b1)" "4/4 0/3"
stop
file b1 3
ln b1 b3
mkdir other
mv b3 other
start b1
head -c $((2 * page)) /dev/urandom >>other/b3
is "written to by another name in another folder" "$(second b1)" 5/5
stop

### Folders

mkdir -p tree/sub
file tree/c 4
file tree/sub/d 4
start tree
file tree/new 3
mkdir tree/more tree/more/still
file tree/more/still/e 2
is "files, and folders, that are new" "$(second tree/new tree/more/still/e)" "3/3 2/2"
file tree/more/still/f 2
is "in the new ones, too" "$(second tree/more/still/f)" 2/2
mv tree/c tree/sub/c2
is "renamed: it stays pinned" "$(second tree/sub/c2)" 4/4
rm -r tree/more
mv tree/sub tree/renamed
is "a folder is renamed" "$(second tree/renamed/d tree/renamed/c2)" "4/4 4/4"
file tree/renamed/g 1
is "and watched" "$(second tree/renamed/g)" 1/1
mkdir next
file next/h 6
mv tree old
mv next tree
is "the folder itself is another one" "$(second tree/h old/new old/renamed/d)" "6/6 0/3 0/4"
is "no more is locked than there is" "$(awk '/^VmLck/ { print $2 * 1024 }' /proc/$pid/status)" \
	$((6 * page))
rm -r tree
sleep 1
mkdir tree
file tree/i 2
is "or gone, and there again" "$(second tree/i)" 2/2
stop
is "the files are those of now" "$(value files 2) $(value asked_bytes 2)" "1 $((2 * page))"
rm -r old
start --exclude='*.tmp' --exclude=skip tree
file tree/x.tmp 2
mkdir tree/skip
file tree/skip/y 2
ln -s ../a tree/link
is "what is not asked for is not pinned" "$(second tree/x.tmp tree/skip/y)" "0/2 0/2"
stop
is "nor counted" "$(value files 2)" 1
rm -r tree
mkdir tree
file tree/a 2
start --max $((5 * page)) tree
file tree/b 3
file tree/c 1
is "more than is allowed is not pinned" "$(second tree/a tree/b tree/c)" "2/2 3/3 0/1"
rm tree/b
is "until there is room for it" "$(second tree/c)" 1/1
stop
like "which is said" "$(told)" "*tree/c: not pinned: more than is allowed*"

### Several names of one file

file a 4
ln a a2
start a a2
rm a
is "a name of two goes: the other is pinned" "$(second a2)" 4/4
stop
is "and is that operand's file" "$(row 4)" "1 $((4 * page)) 0 0 $((4 * page)) 0 released"
rm a2
file b1 3
file b2 4
rm -f link
ln -s b1 link
start b1 link
ln -s b2 link2
mv -T link2 link
is "a link leads from one that is asked for to another: both are pinned" "$(second b1 b2)" "3/3 4/4"
stop
rm link

### What cannot be pinned at first

file a 2
rm -rf gone
start gone a
file gone 3
is "a file that was missing at the start is pinned when it comes" "$(second gone)" 3/3
rm gone
mkdir gone
file gone/x 2
is "also when it is a folder then" "$(second gone/x)" 2/2
rm -r gone
file gone 3
is "or a file again" "$(second gone)" 3/3
stop
is "and is among the files" "$(value files 3)" 1
if [ "$(id -u)" -eq 0 ]; then
	rm -r tree
	mkdir tree
	file tree/a 2
	file tree/b 3
	chmod 0 tree/b
	chmod 755 .
	around="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
	start tree
	like "a file that cannot be opened is said" "$(value state):$err" "partial:lock: tree/b: Permission denied"
	chmod 644 tree/b
	is "and pinned when it can" "$(sleep 2; second tree/b)" 3/3
	kill -USR1 $pid
	sleep 0.3
	out=$(cat "$TMP/.out")
	is "then all is" "$(value state 2):$(value files 2)" pinned:2
	stop
	if command -v setcap >/dev/null && setcap cap_ipc_lock+ep "$lock" 2>/dev/null; then
		start tree
		is "a capability of the file: it is known what is pinned" "$(row)" \
			"2 $((5 * page)) $((5 * page)) 0 0 0 pinned"
		is "and it goes first" "$(cat /proc/$pid/oom_score_adj)" 1000
		stop
		setcap -r "$lock"
	else
		skip "a capability of the file" "needs setcap"
	fi
	around=
else
	skip "what cannot be opened" "needs root"
fi

### Where nobody tells

rm -rf tree
mkdir tree
i=0
while [ $i -lt 2000 ]; do
	echo >tree/$i
	i=$((i + 1))
done
file tree/a 20
rm -rf other
mkdir other
start tree
ln tree/a other/a
if fallocate -p -o 0 -l $((3 * page)) other/a 2>/dev/null; then
	is "lost by a name that nobody knows of: it is measured" "$(second tree/a)" 20/20
else
	skip "lost by a name that nobody knows of" "the file system has no holes"
fi
stop

# blind COMMAND...: the user may have no watches
blind() {
	# shellcheck disable=SC2016 # the inner shell's
	exec unshare -m sh -c 'echo 0 >"$1" && mount --bind "$1" /proc/sys/fs/inotify/max_user_watches &&
		shift && exec "$@"' sh "$TMP/watches" "$@"
}
if (blind true) 2>/dev/null; then
	around=blind
	rm -r tree
	mkdir tree
	file tree/a 5
	file a 5
	start tree a
	like "without watches it is said" "$err" "lock: *: not watched, nor are others*max_user_watches*"
	head -c "$page" /dev/urandom >>a
	file new 4
	mv new tree/a
	file tree/b 3
	is "changes are seen all the same" "$(second a tree/a tree/b)" "6/6 4/4 3/3"
	fallocate -p -o 0 -l $((2 * page)) a
	is "so is what is lost" "$(second a)" 6/6
	stop
	around=
else
	skip "without watches" "needs root and unshare"
fi

### Many files: several processes

# few COMMAND...: as if a process might have 4200 mappings
few() {
	# shellcheck disable=SC2016 # the inner shell's
	exec unshare -m sh -c 'echo 4200 >"$1" && mount --bind "$1" /proc/sys/vm/max_map_count &&
		shift && exec "$@"' sh "$TMP/maps" "$@"
}

# workers: of lock
workers() {
	pgrep -P "$pid"
}

# locked: bytes, by it and its workers
locked() {
	for locked_pid in $pid $(workers); do
		cat "/proc/$locked_pid/status"
	done 2>/dev/null | awk '/^VmLck/ { sum += $2 * 1024 } END { print sum }'
}

# hold BYTES: so much
# shellcheck disable=SC2317 # until_true calls it
hold() {
	[ "$(locked)" = "$1" ]
}

# all: pages of the many files that are there after an eviction
all() {
	for all_name in many/*; do left "$all_name"; done | awk -F / '{ sum += $1 } END { print sum + 0 }'
}

if (few true) 2>/dev/null; then
	mkdir many
	i=0
	while [ $i -lt 2200 ]; do
		echo $i >many/$i
		i=$((i + 1))
	done
	around=few
	start many
	is "more than one process may have: all are pinned" "$(row)" \
		"2200 $((2200 * page)) $((2200 * page)) 0 0 0 pinned"
	worker=$(workers)
	is "another one has some" "$(echo "$worker" | wc -w)" 1
	is "both together hold all" "$(locked)" $((2200 * page))
	is "an eviction takes nothing" "$(all)" 2200
	echo more >>many/1
	: >many/2
	kill -KILL "$worker"
	# thousands of files may take more than a second where others work, too
	until_true hold $((2199 * page))
	is "a process is killed: another one is there, and all is pinned again" \
		"$(workers | wc -w):$(all)" "1:2199"
	like "which is said" "$(told)" "*a worker process has died*lost: *pinned again: *"
	is "the new one has none that we have" \
		"$(cat "/proc/$pid/maps" "/proc/$(workers)/maps" | grep -o '/many/.*' | sort | uniq -d | wc -l)" 0
	kill -INT "$(workers)"
	sleep 0.3
	is "a terminal's signals do not end it" "$(workers | wc -w)" 1
	i=0
	while [ $i -lt 2200 ]; do
		echo more >>many/$i
		i=$((i + 1))
	done
	sleep 1
	ok "nor keep it from what it does" [ "$(all)" -eq 2200 ]
	spent=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	sleep 1
	ok "which comes to an end" [ $(($(awk '{ print $14 + $15 }' "/proc/$pid/stat") - spent)) -lt 20 ]
	worker=$(workers)
	stop KILL
	sleep 0.3
	ok "when we are killed it is gone as well" [ ! -e "/proc/$worker/root" ]
	is "and nothing is pinned" "$(all)" 0
	start many
	stop
	is "let go at the end" "$(value released_bytes 2):$(all)" "$((2200 * page)):0"
	around=
else
	skip "several processes" "needs root and unshare"
fi

done_testing
