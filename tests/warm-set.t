#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check/systemd: the pages that were in memory are again after a restore, and a snapshot of
# which something is still to be restored is never replaced
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

units=$(cd "$(dirname "$0")/../check/systemd" && pwd -P)
page=$(getconf PAGESIZE)
mkdir "$TMP/bin" "$TMP/data" "$TMP/the state" || exit 1
cp "$BUILD/warm" "$BUILD/resident" "$BUILD/tests/pages" "$BUILD/tests/enosys" "$TMP/bin/" || exit 1
cp "$units/warm-set.sh" "$TMP/bin/warm-set" || exit 1
PATH=$TMP/bin:$PATH
STATE_DIRECTORY=$TMP/the\ state
WARM_SET_LIST=$TMP/list
export STATE_DIRECTORY WARM_SET_LIST
state=$STATE_DIRECTORY
snapshot=$state/warm-set
mark=$state/warm-set.incomplete
printf '%s\n' "$TMP/data" >"$TMP/list"
cd "$TMP/data" || exit 1

# file NAME PAGES: cold
file() {
	head -c $(($2 * page)) /dev/urandom >"$1"
	pages --evict "$1"
}

cold() {
	for name in ./*; do pages --evict "$name"; done
}

# a: pages 2 to 4 of 8; b: nothing; c: all of 6
set_pages() {
	cold
	pages --warm a $((2 * page)) $((3 * page))
	pages --warm c 0 $((6 * page))
}

maps() {
	echo "$(pages --map a) $(pages --map b) $(pages --map c)"
}

# left: what lies in the state's folder
left() {
	(cd "$state" && find . ! -name . | LC_ALL=C sort | cut -c 3- | tr '\n' ' ')
}

# sum: of the snapshot, if there is one
sum() {
	[ ! -e "$snapshot" ] || cksum <"$snapshot"
}

# warm_set ARGUMENT...: sets $status, $err and $kept, whether the snapshot is as it was
warm_set() {
	before=$(sum)
	run warm-set "$@"
	kept=kept
	[ "$(sum)" = "$before" ] || kept=replaced
}

# as_new: files, and a snapshot of them; the kernel may reclaim pages at any time: again
as_new() {
	file a 8
	file b 4
	file c 6
	for _ in 1 2 3 4 5; do
		rm -f "$state"/*
		set_pages
		warm_set save
		[ "$(maps)" != "$hot" ] || break
	done
	cold
}
hot="00111000 0000 111111"

# restores: as warm_set restore, all cold before
restores() {
	for _ in 1 2 3; do
		cold
		warm_set restore
		[ "$(maps)" != "$hot" ] || break
	done
}

note "what it does"

file a 8
file b 4
file c 6
warm_set restore
is "nothing to restore yet" "$status:$(left)" "0:"
like "it is said" "$err" "warm-set: no snapshot *"
: >"$mark"
warm_set restore
is "nor is there anything to keep then" "$status:$(left)" "0:"
as_new
is "a save" "$status:$err:$(left)" "0:warm-set: saved: 2 files, $((9 * page)) bytes:warm-set "
is "is for root only" "$(stat -c %a "$snapshot")" 600
is "nothing is in memory" "$(maps)" "00000000 0000 000000"
restores
is "a restore: the same pages are" "$(maps)" "$hot"
is "it is a success" "$status:$err" \
	"0:warm-set: restored: $((9 * page)) bytes are in memory, of a snapshot of 2 files, $((9 * page)) bytes"
is "what it leaves" "$(left)" "warm-set warm-set.report "
(eval "$(cat "$state/warm-set.report")" && [ "${resident_bytes:-}" = $((9 * page)) ])
verdict $? "the report of warm is there"
pages --warm b 0 "$page"
warm_set save
is "then there are saves again" "$status:$kept" "0:replaced"
mkdir "$TMP/options"
: >"$TMP/options/--exclude=z" # what the shell would make of the pattern
cd "$TMP/options" || exit 1
WARM_SET_SAVE_OPTIONS='--exclude=c --exclude=[a-bz]' warm_set save --force
cd "$TMP/data" || exit 1
is "options of resident, which are no patterns for the shell" "$status:$err" "0:warm-set: saved: 0 files, 0 bytes"

note "a restore that is not whole"

# not_whole NAME STATUS: of the restore that was, and no save after it
not_whole() {
	like "$1" "$status:$kept:$([ -e "$mark" ] && echo marked)" "$2:kept:marked" || note "$err"
	like "$1: it is said, with what to do" "$err" "*not restored as a whole*save --force*"
	warm_set save
	is "$1: no save" "$status:$kept" "1:kept"
	like "$1: it is said why" "$err" "warm-set: not saved, so that what is still to be restored stays: the restore at * was not whole: warm ended with status [1-3]. *"
}
as_new
WARM_SET_RESTORE_OPTIONS=--budget=0 warm_set restore
not_whole "a budget" 1
warm_set restore
is "until one is whole" "$status:$(left)" "0:warm-set warm-set.report "
warm_set save
is "then there are saves" "$status" 0
WARM_SET_RESTORE_OPTIONS=--no-such-option warm_set restore
not_whole "usage" 3
warm_set save --force
is "or until it is given up" "$status:$(left)" "0:warm-set "
warm_set save
is "then there are saves" "$status" 0

as_new
sed -i '$d' "$snapshot"
warm_set restore
not_whole "a snapshot that is cut off" 2
as_new
printf '#!/bin/sh\nexec enosys pread64=EIO preadv=EIO sendfile=EIO fadvise64 readahead -- "%s" "$@"\n' "$TMP/bin/warm" >"$TMP/faulty"
mkdir "$TMP/faults" && mv "$TMP/faulty" "$TMP/faults/warm" && chmod 755 "$TMP/faults/warm"
PATH=$TMP/faults:$PATH warm_set restore
like "files that cannot be read" "$err" "*warm: $TMP/data/a: I/O error*"
not_whole "files that cannot be read" "[12]"
as_new
WARM_SET_RESTORE_OPTIONS=--rate=16k WARM_SET_TIMEOUT=0.2 warm_set restore
not_whole "not done in time" 1

note "files that are gone or changed"

as_new
rm a
WARM_SET_MIN=66 warm_set restore
is "a third is gone: enough with 66 %" "$status:$(left)" "0:warm-set warm-set.report "
WARM_SET_MIN=67% warm_set restore
not_whole "not with 67 %" 1
file a 8
as_new
touch a
restores
is "a file that was written since: the same pages" "$status:$(maps)" "0:$hot"
cold
WARM_SET_RESTORE_OPTIONS='' warm_set restore
not_whole "unless the options say otherwise" 1

note "what is not to take the place of a snapshot"

as_new
warm_set save
is "nothing is in memory any more" "$status:$kept" "1:kept"
like "it is said" "$err" "warm-set: not saved: nothing in $TMP/list is in memory, and * has 2 files, *"
warm_set save --force
is "unless it is meant" "$status:$kept" "0:replaced"
as_new
set_pages
printf '%s\n' "$TMP/data" "$TMP/nosuch" >"$TMP/list"
warm_set save
is "a path in the list that is not there" "$status:$kept:$(left)" "1:kept:warm-set "
like "it is said" "$err" "resident: $TMP/nosuch: *
warm-set: not saved: some of $TMP/list could not be looked at*"
WARM_SET_IN_PART=yes warm_set save
is "WARM_SET_IN_PART=yes" "$status" 0
printf '%s\n' "$TMP/data" >"$TMP/list"
WARM_SET_LIST=/nosuch warm_set save
is "no list" "$status:$kept" "2:kept"
like "it is said" "$err" "warm-set: not saved: no list /nosuch: *"
WARM_SET_SAVE_OPTIONS=--no-such-option warm_set save
is "usage of resident" "$status:$kept" "3:kept"
STATE_DIRECTORY=/nosuch warm_set save
like "no folder" "$status:$err" "2:warm-set: no folder /nosuch: *"
for wrong in "" "save force" "restore --force" "save --force more" "--bad"; do
	# shellcheck disable=SC2086 # words
	warm_set $wrong
	is "usage: $wrong" "$status:$kept:$(echo "$err" | wc -l)" "3:kept:1"
done
run warm-set --help
like "--help" "$status:$err:$out" "0::Usage: warm-set.sh *"

if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c 'mount -t tmpfs -o size=16k none "$STATE_DIRECTORY" || exit
		warm-set save || exit
		cp "$STATE_DIRECTORY/warm-set" "$1/first"
		cat /dev/zero >"$STATE_DIRECTORY/full" 2>/dev/null
		warm-set save --force
		echo "save $?"
		warm-set restore
		echo "restore $?"
		cmp "$STATE_DIRECTORY/warm-set" "$1/first" && ls -A "$STATE_DIRECTORY"' sh "$TMP"
	is "a full disk: nothing is saved or restored, the snapshot stays" "$status:$out" "0:save 2
restore 2
full
warm-set" || note "$err"
else
	skip "a full disk" "needs root and mount namespaces"
fi

note "signals, and others at work"

# slow COMMAND: warm does this instead, and so has no end in time
slow() {
	mkdir -p "$TMP/slow"
	printf '#!/bin/sh\nexec %s\n' "$1" >"$TMP/slow/warm"
	chmod 755 "$TMP/slow/warm"
}

# begin ARGUMENT...: sets $pid and $child of a warm-set that is at work
begin() {
	perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' warm-set "$@" 2>"$TMP/.err" &
	pid=$!
	sleep 0.5
	child=$(pgrep -P $pid)
}

# ended SIGNAL: sets $status, $err and $took, in seconds
ended() {
	took=$(date +%s)
	kill -"$1" $pid
	status=0
	wait $pid 2>/dev/null || status=$?
	took=$(($(date +%s) - took))
	err=$(cat "$TMP/.err")
}

slow 'sleep 60'
for signal in HUP=129 INT=130 TERM=143; do
	as_new
	before=$(sum)
	PATH=$TMP/slow:$PATH begin restore
	ended "${signal%=*}"
	is "SIG${signal%=*} in a restore" "$status:$(left)" "${signal#*=}:warm-set warm-set.incomplete "
	like "it is said" "$err" "warm-set: stopped by SIG${signal%=*}; $snapshot is as it was"
	ok "what it waited for is ended, soon: ${took}s" [ ! -d "/proc/$child" -a "$took" -lt 30 ]
	warm_set save
	is "then no save" "$status:$kept" "1:kept"
done

as_new
PATH=$TMP/slow:$PATH begin restore
warm_set save --force
is "a save meanwhile" "$status:$kept" "1:kept"
like "it is said" "$err" "warm-set: another save or restore is at work in $state: *"
ended KILL
warm_set save
is "a crash in a restore: no save" "$status:$kept" "1:kept"
like "it is said, and no lock left" "$err" "*: a restore began at * and did not end. *"
kill "$child" # is warm, as far as the script knows
warm_set restore
is "until one is whole" "$status:$(left)" "0:warm-set warm-set.report "

mkfifo "$TMP/fifo"
sleep 60 >"$TMP/fifo" &
writer=$!
on_exit "kill $writer 2>/dev/null"
before=$(sum)
WARM_SET_LIST=$TMP/fifo begin save
ended TERM
is "SIGTERM in a save" "$status:$(left):$(sum)" "143:warm-set warm-set.report :$before"
WARM_SET_LIST=$TMP/fifo WARM_SET_TIMEOUT=0.3 warm_set save
is "a save that is not done in time" "$status:$kept:$(left)" "3:kept:warm-set warm-set.report "
kill $writer

note "the units"

if command -v systemd-analyze >/dev/null; then
	root=$TMP/root
	mkdir -p "$root/usr/local/sbin" "$root/etc/systemd" "$root/usr/lib"
	cp "$units/warm-set.sh" "$root/usr/local/sbin/"
	cp -R "$units" "$root/etc/systemd/system"
	cp -R /usr/lib/systemd "$root/usr/lib/" 2>/dev/null
	for unit in warm-set-restore.service warm-set-save.service warm-set-save.timer; do
		run systemd-analyze verify --man=no --root="$root" "/etc/systemd/system/$unit"
		is "$unit is one" "$status:$out$err" "0:"
	done
	for unit in warm-set-restore.service warm-set-save.service; do
		run systemd-analyze security --no-pager --offline=yes --root="$root" --threshold=25 $unit
		is "$unit: what it may do is little" "$status" 0
	done
else
	skip "the units" "needs systemd-analyze"
fi

# What a unit runs, with what its services may do at most.
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$units/warm-set-.service.d/10-sandbox.conf" |
	tr '[:upper:] ' '[:lower:],' | sed 's/cap_/+/g')
for line in restore save; do
	ok "$line: a unit has it" grep -qx "Exec[A-Z][a-z]*=/usr/local/sbin/warm-set.sh $line" "$units"/*.service
done
if [ "$(id -u)" -eq 0 ]; then
	as_new
	chown -R 65534 .
	chmod 700 .
	chmod 600 ./*
	as_unit() {
		run setpriv --bounding-set="-all,$caps" --no-new-privs warm-set "$@"
	}
	set_pages
	rm "$snapshot"
	as_unit save
	is "with the capabilities of the units: files of others, with their heat" \
		"$status:$(awk -F '\t' '$1 == "in" && NF != 4' "$snapshot"):$(tail -n 1 "$snapshot")" \
		"0::end	2	$((9 * page))" || note "$err"
	for _ in 1 2 3; do
		cold
		as_unit restore
		[ "$(maps)" != "$hot" ] || break
	done
	is "and restored" "$status:$(maps)" "0:$hot" || note "$err"
else
	skip "with the capabilities of the units" "needs root"
fi

done_testing
