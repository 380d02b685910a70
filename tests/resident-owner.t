#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # with and run call functions
# resident --owner: pages that known cgroups brought in, and no page that came by looking
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

r() {
	"$resident" --owner -f tsv "$@"
}

file f 64 100
if [ "$(id -u)" -ne 0 ]; then
	run r f
	like "without privilege" "$status:$out:$err" "3::resident: --owner: *CAP_SYS_ADMIN*"
	skip "who pays" "needs root"
	done_testing
fi

# hierarchy: the folder of the mounted hierarchy that has the memory controller
hierarchy() {
	for hierarchy in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ ! -w "$hierarchy/memory.usage_in_bytes" ] || return 0
		! grep -qs memory "$hierarchy/cgroup.subtree_control" || return 0
	done
	return 1
}

[ -e /proc/kpagecgroup ] || skip_all "this kernel has no /proc/kpagecgroup"
hierarchy || skip_all "no hierarchy of memory cgroups is mounted here"
# what it is called there: a process that pays for the folders above would be in the way
top=$hierarchy/hotset-owner.$$
one=$top/one two="$top/two three"
mkdir "$top" 2>/dev/null || skip_all "no cgroup can be made here"
on_exit "rmdir '$one' '$two' '$top' 2>/dev/null"
if [ -e "$top/cgroup.subtree_control" ]; then
	echo +memory >"$top/cgroup.subtree_control"
fi
mkdir "$one" "$two"

# a script's words are split where there are blanks: links have none
ln -s "$one" one
ln -s "$two" two

# owners: "PATH OWNER PAGES", of each row in $out; owners by what they are called below $top
owners() {
	printf '%s\n' "$out" | awk -F '\t' 'NR > 1 { print $1, $2, $3 }' |
		sed "s|/hotset-owner.$$/||"
}

# pays NAME "ROWS" FILE "RUN..." COMMAND...
pays() {
	pays_name=$1
	pays_wanted=$2
	shift 2
	with "$@"
	is "$pays_name" "$status:$err:$(owners)" "0::$pays_wanted" || note "$out"
}

### Who pays

pays "one pays for all" "f one 65" f "0+65@one" r f
pays "two pay, the larger one first" "f two three 20
f one 16" f "0+16@one 20+20@two" r f
pays "pages between each other" "f one 5
f two three 4" f "0+1@one 1+1@two 2+1@one 3+2@two 5+2@one 64+1@one 9+1@two" r f
is "bytes, and the share of what is in memory" \
	"$(printf '%s\n' "$out" | awk -F '\t' '{ print $4, $5 }')" "resident_bytes ratio
$((5 * page)) 55.56
$((4 * page)) 44.44"
pays "-v: an operand that is a file has its rows once" "f one 2" f "0+2@one" r -v f
pays "a range" "f two three 3
f one 2" f "0+10@one 10+10@two" r -p $((8 * page)):$((5 * page)) f
pays "a range that cuts pages" "f two three 3
f one 2" f "0+10@one 10+10@two" r -p $((9 * page - 1)):$((3 * page + 2)) f
pays "nothing in memory: no row" "" f "" r f
: >empty
pays "an empty file" "" f "" r empty
file large 5000
pays "more than one look takes" "large one 3001
large two three 1998" large "0+3000@one 3001+1@one 3002+1998@two" r large

mkdir tree tree/sub
file tree/a 8
file tree/sub/b 8
load tree/a 0+8@one
with tree/sub/b "0+2@one 2+3@two" r tree
is "a folder: the sum of its files" "$(owners)" "tree one 10
tree two three 3"
load tree/a 0+8@one
with tree/sub/b "0+2@one 2+3@two" r -v tree
is "-v: each file, in order" "$(owners)" "tree/a one 8
tree/sub/b two three 3
tree/sub/b one 2
tree one 10
tree two three 3"
load tree/a 0+8@one
with tree/sub/b "0+2@one 2+3@two" "$resident" --owner tree/a tree/sub/b
is "text: several operands have a total" \
	"$(printf '%s\n' "$out" | awk '{ print $1, $NF }' | tail -n 2)" \
	"$((10 * page / 1024))K total
$((3 * page / 1024))K total"
with f "0+16@one" "$resident" --owner -f json f
is "json" "$out" "{\"path\":\"f\",\"owner\":\"/hotset-owner.$$/one\",\"resident_pages\":16,\"resident_bytes\":$((16 * page)),\"ratio\":100.00}"
with f "0+16@one" "$resident" --owner -f prom f
like "prom" "$out" "*hotset_resident_owner_pages{path=\"f\",owner=\"/hotset-owner.$$/one\"} 16*"
with f "0+16@one" "$resident" --owner -f kv --columns owner,ratio f
is "--columns" "$out" "owner=/hotset-owner.$$/one
ratio=100.00"
with f "0+16@one" r -o report f
run cat report
is "-o" "$(owners)" "f one 16"
name=$(printf 'new\nline')
file "$name" 1
with "$name" "0+1@one" r "$name"
is "a hostile name" "$(owners)" 'new\nline one 1'

# as /proc/PID/cgroup says, for the cgroup that we are in
own=$(sed -n 's/^[0-9]*:\(.*,\)*memory\(,.*\)*://p' /proc/self/cgroup)
[ -n "$own" ] || own=$(sed -n 's/^0:://p' /proc/self/cgroup)
with f "0+7" r f
is "our own, as in /proc/self/cgroup" "$(owners)" "f $own 7"

### Looking changes nothing

# Readahead leaves a mark on a page: to touch that one would start the next readahead.
"$pages" --evict f
file marked 4000
dd if=marked of=/dev/null bs=4k count=20 2>/dev/null
before=$("$pages" --map marked)
run r marked
is "pages with the mark of readahead" "$("$pages" --map marked)" "$before"
is "all of them are counted" "$(owners)" \
	"marked $own $(printf %s "$before" | tr -d 0 | wc -c)"

### Cgroups that go, and ones that come

with f "0+9@one" r f
rmdir "$one"
for try in 1 2 3 4 5 6 7 8 9 10; do # at first it is gone, then its pages are the parent's
	run r f
	case $(owners) in "f deleted:"[1-9]*" 9") sleep 0.5 ;; *) break ;; esac
done
is "a cgroup that is removed: its parent pays" "$(owners)" "f /hotset-owner.$$ 9"
mkdir "$one"
pays "a new one of the same name" "f one 4" f "0+4@one" r f

### What hides it

run as_nobody "$resident" --owner f
like "a plain user" "$status:$out:$err" "3::resident: --owner: *CAP_SYS_ADMIN*"
run setpriv --bounding-set=-sys_admin --inh-caps=-all "$resident" --owner f
like "root without CAP_SYS_ADMIN" "$status:$out:$err" "3::resident: --owner: *CAP_SYS_ADMIN*"
if unshare -m true 2>/dev/null; then
	run unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$resident" --owner f
	like "a kernel without it" "$status:$out:$err" "3::resident: --owner: *CONFIG_MEMCG*"
	run unshare -m sh -c 'umount -l /sys/fs/cgroup && exec "$@"' sh "$resident" --owner f
	like "no hierarchy is mounted" "$status:$out:$err" "3::resident: --owner: *mount -t cgroup2*"
else
	skip "kernels without it" "mount namespaces are not allowed"
fi
for wrong in --map --holes "--depth 1" "--sort path" "--rows 1" --diff=snap --save=snap; do
	# shellcheck disable=SC2086 # words
	run r $wrong f
	like "not with $wrong" "$status:$out:$err" "3::resident: *--owner*"
done

file shrinking 2000
(while :; do truncate -s 0 shrinking && dd if=/dev/zero of=shrinking bs=1M count=8 2>/dev/null; done) &
truncater=$!
bad=0
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	r shrinking >shrink.out 2>&1 || bad=$?
done
kill "$truncater"
is "a file that shrinks meanwhile" "$bad" 0

mkdir lower upper work over
file lower/low 8
if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay over 2>mount.err; then
	on_exit "umount -l '$TMP/w/over'"
	pays "overlay" "over/low one 3" over/low "2+3@one" r over/low
else
	skip "overlay" "$(cat mount.err)"
fi
mkdir huge
if mount -t tmpfs -o huge=always,size=64M tmpfs huge 2>mount.err; then
	on_exit "umount -l '$TMP/w/huge'"
	# shellcheck disable=SC2016 # the inner shell's
	sh -c 'echo $$ >one/cgroup.procs && exec head -c 4800000 /dev/zero' >huge/file
	run r huge/file
	is "tmpfs with huge pages" "$(owners)" "huge/file one $(((4800000 + page - 1) / page))"
	rm huge/file
else
	skip "tmpfs with huge pages" "$(cat mount.err)"
fi
done_testing
