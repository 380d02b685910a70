#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resident --pid, --cgroup and --all: the files that processes have open or mapped
# shellcheck source=tests/lib.sh
# shellcheck disable=SC2317 # counts calls functions
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
# shellcheck source=tests/holder.sh
. "$(dirname "$0")/holder.sh"
mkdir "$TMP/w"
chmod 777 "$TMP/w"
cd "$TMP/w" || exit 1

# counts NAME "FILES RESIDENT/PAGES ERRORS STATUS" [COMMAND...] ARGUMENTS
counts() {
	counts_name=$1
	counts_wanted=$2
	shift 2
	run "$@"
	is "$counts_name" "$(value files) $(value resident_pages)/$(value pages) $(value errors) $status" \
		"$counts_wanted" || note "$err"
}

# of the files below here only, unlike the holder's own binary
r() {
	"$resident" -f kv --include "$TMP/w/*" "$@"
}

# names ARGUMENTS: the files, as tsv has them, in the order of their names
names() {
	"$resident" -v -f tsv --columns=path "$@" 2>/dev/null | sed -e '1d' -e '$d' | sort
}

### What a process has

file open 8
file mapped 8
file both 8
hold open open map mapped open both map both
warm open 0 3 8
warm mapped 0 5 8
warm both 0 0 8
counts "open, mapped, and both" "3 8/24 0 0" r --pid=$held
is "the row's path" "$(value path)" "pid:$held"
is "its binary is mapped as well" "$(names --pid=$held)" "$TMP/holder
$TMP/w/both
$TMP/w/mapped
$TMP/w/open"
first=$held
warm open 0 3 8
warm mapped 0 5 8
counts "--exclude" "2 8/16 0 0" r --exclude both --pid="$held"
counts "--range" "3 2/3 0 0" r --range "$page:$page" --exclude none --pid="$held"
counts "--max-file-size" "0 0/0 0 0" r --max-file-size $((8 * page - 1)) --pid="$held"
run "$resident" --sort=resident --rows=1 --columns=files,path -f tsv --include '*/w/*' --pid="$held"
is "--sort and --rows" "$out" "files	path
3	pid:$held
1	$TMP/w/mapped" || note "$err"

# other ways to report, of the file of which the first three pages are in memory
only_open="--include */w/open --pid=$held"
warm open 0 3 8
# shellcheck disable=SC2086 # words
run "$resident" $only_open --holes -0
is "--holes, with NUL" "$(tr '\0' '!' <"$TMP/.out")" \
	"$((3 * page)):$((5 * page))	$TMP/w/open!" || note "$err"
warm open 0 3 8
# shellcheck disable=SC2086
run "$resident" $only_open -v --map
like "--map" "$out" "* $TMP/w/open
[[]###     []]
* pid:$held" || note "$err"
warm open 0 3 8
# shellcheck disable=SC2086
run "$resident" $only_open --save=snap
is "--save" "$status:$err:$(sed -n 's/^in	\([0-9]*	[0-9]*\).*/\1/p' snap)" "0::0	$((3 * page))"
run "$resident" -f kv --diff=snap
is "what is saved is known by its name" "$(value files) $(value state)" "1 same" || note "$err"

file gone 4
file other 2
hold open gone open other
rm gone
file gone 1 # another one of that name
counts "a deleted file counts" "2 0/6 0 0" r --pid=$held
is "it is shown as the kernel names it" "$(names --include '*/w/*' --pid=$held)" "$TMP/w/gone (deleted)
$TMP/w/other"
hold map other unlink other
# Who may not follow mappings is told of what no name leads to.
follows=yes
for link in /proc/self/map_files/*; do
	[ -e "$link" ] || follows=
	break
done
beyond='[1-9]* of the mapped files cannot be reached by name: Permission denied (root, or CAP_CHECKPOINT_RESTORE)'
if [ -n "$follows" ]; then
	counts "a deleted file that is only mapped" "1 0/2 0 0" r --pid=$held
else
	run r --include "*/other*" --pid=$held
	like "a deleted file that is only mapped, and cannot be reached" "$status:$out:$err" \
		"2::resident: pid:$held: $beyond"
fi

file doomed 3
file other 2
hold open doomed open other
warm doomed 0 3 3
warm other 0 2 2
mv doomed doomed.old
file doomed 1
rm doomed.old
run r --pid=$held --save=snap
is "neither a deleted file nor who has its name is in a snapshot" \
	"$status:$(value resident_pages):$(sed -n 's/^file.*	//p' snap)" "0:5:$TMP/w/other" || note "$err"

hold memfd 'my memory' shm
run "$resident" -v -f tsv --columns=path,resident_pages --exclude '*holder' --pid=$held
if [ -n "$follows" ]; then
	is "memfd and SysV shared memory" "$(printf '%s\n' "$out" | sed 's/SYSV[0-9a-f]*/SYSV/')" \
		"path	resident_pages
/memfd:my memory (deleted)	1
/SYSV (deleted)	1
pid:$held	2"
else
	like "memfd, and SysV shared memory that cannot be reached" "$status:$out:$err" \
		"1:path	resident_pages
/memfd:my memory (deleted)	1
pid:$held	1:resident: pid:$held: $beyond"
fi

newline=$(printf 'new\nline')
for name in 'with blanks ' "$newline" 'left (deleted)' 'back\012slash'; do
	file "$name" 1
done
file "$newline (deleted)" 1
set -- map 'with blanks ' map "$newline" map 'left (deleted)' map 'back\012slash' \
	map "$newline (deleted)"
odd="$TMP/w/back\\\\012slash
$TMP/w/left (deleted)
$TMP/w/new\\nline
$TMP/w/new\\nline (deleted)
$TMP/w/with blanks "
hold "$@"
is "odd names" "$(names --include '*/w/*' --pid=$held)" "$odd"

### Several processes

file own 2
ln both link
hold map link open own
second=$held
run "$resident" -f tsv --columns=path,files --include "$TMP/w/*" --pid="$first" --pid="$second"
is "what two share counts in the first" "$status:$out" "0:path	files
pid:$first	3
pid:$second	1"
run "$resident" --columns=files,path --include "$TMP/w/*" --pid="$first" --pid="$second"
is "text: the total" "$(printf '%s\n' "$out" | tail -n 1 | tr -s ' ')" " 4 total"

mkdir many
(cd many && for i in $(seq 3000); do echo >"$i"; done)
# shellcheck disable=SC3045 # every sh on Linux has ulimit -n
if ulimit -n 4000 2>/dev/null; then
	hold many many
	(ulimit -n 100 && r --pid="$held") >many.out 2>&1
	is "3,000 open files, looked at with few" "$? $(sed -n 's/^files=//p' many.out)" "0 3000"
	kill -9 "$held"
else
	skip "3,000 open files" "ulimit -n is $(ulimit -n)"
fi

file thread 1
hold thread thread
counts "a thread with open files of its own" "1 0/1 0 0" r --pid=$held
hold thread thread map own last
counts "a process whose first thread has ended" "2 0/3 0 0" r --pid=$held

### Not opened, not shown

mkfifo fifo
hold fifo fifo
: 4<>fifo
kill "$held"
wait "$held"
is "the holder of a FIFO sees that it is opened" "$(cat opened)" 1
hold fifo fifo
counts "a FIFO is left out" "0 0/0 0 0" r --pid=$held
kill "$held"
wait "$held"
is "and has not been opened" "$(cat opened)" 0
hold open "/proc/$first/status"
is "files of proc are left out" "$(names --pid=$held | grep -c /proc/)" 0

### Mistakes

run "$resident" --pid=4194304999
is "--pid out of range" "$status" 3
run "$resident" --pid=1x
like "--pid that is none" "$status:$err" '3:resident: --pid: "1x" is not a valid PID*'
sleep 0 &
wait $!
run r --pid=$!
is "--pid of no process" "$status:$out:$err" "2::resident: pid:$!: No such process"
run r --pid=$! --pid="$first"
is "--pid of no process and of one" "$status:$(value files)" "1:3"
run r --cgroup=/no/such/cgroup
is "--cgroup of none" "$status:$out:$err" \
	"2::resident: cgroup:/no/such/cgroup: No such file or directory"
run r --cgroup=/usr
is "--cgroup with a folder that is none" "$status:$out" "2:"
for mistake in open -L -x --count-links '-T list' -0 --depth=1 --diff=snap --pid=1; do
	# shellcheck disable=SC2086 # words
	run "$resident" --all $mistake
	like "--all with $mistake" "$status:$out:$err" "3::resident: *"
done
run "$resident" -f prom --pid="$first" --pid="$first"
is "prom: a process twice" "$status" 3

### All

# remarks: those of $err that do not depend on what else runs here
remarks() {
	printf '%s\n' "$err" | grep -v -e '^$' -e 'cannot look at the open files of [0-9]* of' \
		-e 'residency of .* is unknown' -e 'not kept in the page cache' -e "$unreached"
}
unreached='^$'
[ -n "$follows" ] || unreached='of the mapped files cannot be reached by name'

run "$resident" -v -f tsv --columns=path --all
printf '%s\n' "$out" >all.out
is "--all: no file twice" "$(sort all.out | grep "^$TMP/w/" | uniq -d)" ""
is "--all has both processes' files" \
	"$(grep -c -x -e "$TMP/w/open" -e "$TMP/w/own" -e all all.out)" 3
is "--all leaves resident out" "$(grep -c "^$resident" all.out)" 0
is "--all: messages" "$(remarks)" ""

# processes that end meanwhile
mkdir few
(cd few && for i in $(seq 200); do echo >"$i"; done)
(mkdir storm && cd storm && while :; do "$TMP/holder" many ../few map ../own leave; done) 3>&- &
storm=$!
on_exit "kill $storm 2>/dev/null"
worst=0
: >storm.err
for try in $(seq 50); do
	# where processes are hidden, the status is 2 if there is no file but theirs
	run "$resident" -f kv --include "$TMP/w/few/*" --include "$TMP/w/open" --all
	[ "$status" -le "$worst" ] || worst=$status
	remarks >>storm.err
done
kill $storm
ok "processes that end meanwhile: status" [ "$worst" -le 1 ]
is "processes that end meanwhile: messages" "$(sort storm.err | uniq -c)" ""

[ "$(id -u)" -eq 0 ] || {
	skip "other users, roots, mounts, cgroups" "needs root"
	done_testing
}

### Other roots and mounts

mkdir jail jail/inner
file jail/inner/file 2
# of the chroot as its process names it
hold chroot "$TMP/w/jail" open /inner/file map /inner/file
jailed=$held
counts "a process in a chroot" "1 0/2 0 0" r --pid=$held
is "its names are from our root" "$(names --include '*/w/*' --pid=$held)" "$TMP/w/jail/inner/file"

# able CAPABILITY...: resident without others, that CAP_SYS_ADMIN may follow mappings with
able() {
	setpriv --bounding-set=-all,+sys_ptrace,+fowner,+dac_override --inh-caps=-all \
		"$resident" -f kv --include "$TMP/w/*" "$@"
}
counts "a chroot, by the paths in maps" "1 0/2 0 0" able --pid="$jailed"

mkdir mnt
if unshare -m true 2>/dev/null; then
	cat >"$TMP/mounted" <<-END
		mount -t tmpfs none mnt || exit
		head -c $((3 * page)) /dev/zero >mnt/file
		cp mnt/file mnt/other
		exec "\$@"
	END
	around="unshare -m sh $TMP/mounted"
	hold open mnt/file map mnt/other
	around=
	counts "another mount namespace" "2 6/6 0 0" r --pid=$held
	is "its names are from there" "$(names --include '*/w/*' --pid=$held)" "$TMP/w/mnt/file
$TMP/w/mnt/other"
	counts "another mount namespace, by the paths in maps" "2 6/6 0 0" able --pid=$held
	echo >mnt/other # not that file, though of its name
	counts "not what has the name here" "2 6/6 0 0" able --pid=$held
else
	skip "mount namespaces" "unshare -m fails"
fi

mkdir lower upper work over
file lower/file 4
if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay over 2>mount.err; then
	on_exit "umount -l '$TMP/w/over'"
	hold map over/file
	warm over/file 0 2 4
	counts "overlayfs" "1 2/4 0 0" r --pid=$held
	counts "overlayfs, by the paths in maps" "1 2/4 0 0" able --pid=$held
	kill -9 $held
else
	skip "overlayfs" "$(cat mount.err)"
fi
truncate -s 320M btrfs.img
mkdir btrfs
if command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q btrfs.img 2>mount.err &&
	mount -o loop btrfs.img btrfs 2>mount.err; then
	on_exit "umount -l '$TMP/w/btrfs'"
	btrfs -q subvolume create btrfs/sub
	file btrfs/sub/file 4
	hold map btrfs/sub/file open btrfs/sub/file
	counts "btrfs" "1 0/4 0 0" r --pid=$held
	counts "btrfs, by the paths in maps" "1 0/4 0 0" able --pid=$held
	kill -9 $held
else
	skip "btrfs" "needs mkfs.btrfs: $(cat mount.err)"
fi

### Other users

stranger() {
	as_nobody "$resident" -f kv --include "$TMP/w/*" "$@"
}
run stranger --pid="$first"
is "no privilege for a process: no figure, and no 0" "$status:$out:$err" \
	"2::resident: cannot look at the open files of process $first: Permission denied (root, or CAP_SYS_PTRACE)"
run stranger --pid="$first" --pid=$!
is "no privilege for one, no other process" "$status:$out" 2:
run stranger -f text --holes --pid="$first"
is "nor a list that has nothing" "$status:$out" 2:
run stranger --all
like "no privilege for others: --all" "$status:$(printf '%s\n' "$err" | grep 'cannot look')" \
	"2:resident: all: cannot look at the open files of [1-9]* of [1-9]* processes: Permission denied (root, or CAP_SYS_PTRACE)"
is "it is one message" "$(printf '%s\n' "$err" | grep -c 'cannot look')" 1
# kernel threads have nothing to hide
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	counts "a thread of the kernel" "0 0/0 0 0" stranger --pid=2
else
	skip "a thread of the kernel" "this /proc shows none"
fi

chown nobody ./*
around="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all"
set -- map 'with blanks ' map "$newline" map 'left (deleted)' map 'back\012slash' \
	map "$newline (deleted)"
hold "$@" open open
warm open 0 3 8
for name in 'with blanks ' "$newline" 'left (deleted)' 'back\012slash' "$newline (deleted)"; do
	warm "$name" 0 1 1
done
counts "a process of their own, by the paths in maps" "6 8/13 0 0" stranger --pid="$held"
odd="$odd
$TMP/w/open"
is "odd names" "$(as_nobody "$resident" -v -f tsv --columns=path --include '*/w/*' --pid="$held" |
	sed -e 1d -e '$d' | sort)" "$(printf '%s\n' "$odd" | sort)"
file deleted 1
file kept 1
file replaced 1
chown nobody deleted kept replaced
hold map deleted open deleted open kept unlink kept map replaced unlink replaced
file 'replaced (deleted)' 1 # which the mapped one is called now
chown nobody 'replaced (deleted)'
run stranger --pid="$held"
is "what is deleted and mapped only is hidden from them" \
	"$status:$(value files):$(value errors):$err" \
	"1:2:1:resident: pid:$held: 1 of the mapped files cannot be reached by name: Permission denied (root, or CAP_CHECKPOINT_RESTORE)"
counts "but not from root" "3 0/3 0 0" r --pid="$held"
cp "$TMP/holder" binary
chown nobody binary
holder=./binary
hold open open
holder=$TMP/holder
rm binary
counts "a binary that is deleted is not hidden" "1 1/1 0 0" stranger \
	--include '*/binary (deleted)' --exclude open --range 0:1 --pid="$held"
around=

### Cgroups

# in_group FOLDER: makes it a cgroup with a holder in it and one below, that share a file
in_group() {
	mkdir "$1" "$1/below" 2>mount.err || return
	on_exit "rmdir '$1/below' '$1'"
	hold open open
	echo $held >"$1/cgroup.procs" || return
	on_exit "kill -9 $held; sleep 0.2"
	hold map mapped open open
	echo $held >"$1/below/cgroup.procs" || return
	on_exit "kill -9 $held; sleep 0.2"
	warm open 0 3 8
	warm mapped 0 5 8
}

# mounts TYPE PATTERN: where cgroups of that type, and with these options, are mounted
mounts() {
	awk -v type="$1" -v options="$2" '$3 == type && $4 ~ options { print $2; exit }' /proc/mounts
}

for version in "1 $(mounts cgroup '(^|,)memory(,|$)')" "2 $(mounts cgroup2 .)"; do
	mount=${version#* }
	version=${version%% *}
	name=hotset-v$version.$$
	group=$mount/$name
	if [ -z "$mount" ] || ! in_group "$group"; then
		skip "cgroups of version $version" "cannot make one"
		continue
	fi
	counts "version $version: a cgroup and one below, by its folder" "2 8/16 0 0" r --cgroup="$group"
	counts "version $version: the one below" "2 8/16 0 0" r --cgroup="$group/below"
	counts "version $version: by name" "2 8/16 0 0" r --cgroup="/$name"
	is "version $version: the row's path" "$(value path)" "cgroup:/$name"
	run r --pid="$held" --cgroup="/$name/below" --cgroup="/$name"
	is "version $version: cgroups after a process, each file once" \
		"$(value files) $(value files 2) $(value files 3)" "2 0 0"
done

# a cgroup of threads does not tell its processes
group=$(mounts cgroup2 .)/hotset-threads.$$
mkdir -p "$group/threads" 2>mount.err && on_exit "rmdir '$group/threads' '$group'"
if echo threaded >"$group/threads/cgroup.type"; then
	hold thread thread
	on_exit "kill -9 $held; sleep 0.2"
	echo $held >"$group/cgroup.procs"
	for task in "/proc/$held/task"/*; do
		[ "${task##*/}" = "$held" ] || echo "${task##*/}" >"$group/threads/cgroup.threads"
	done
	counts "a cgroup of threads" "1 0/1 0 0" r --cgroup="$group/threads"
else
	skip "a cgroup of threads" "needs cgroups of version 2"
fi
done_testing
