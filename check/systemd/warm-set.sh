#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is in the page cache survives a boot: `warm-set.sh --help` tells. The units beside it
# call it, which find it in /usr/local/sbin; next to resident and warm it needs flock of
# util-linux.
set -u

list=${WARM_SET_LIST:-/etc/hotset/warm-set.list}
state=${STATE_DIRECTORY:-/var/lib/hotset} # systemd sets it
min=${WARM_SET_MIN:-90}
timeout=${WARM_SET_TIMEOUT:-1h}
in_part=${WARM_SET_IN_PART:-no}
save_options=${WARM_SET_SAVE_OPTIONS-}
restore_options=${WARM_SET_RESTORE_OPTIONS---changed=ranges}

snapshot=$state/warm-set
report=$state/warm-set.report   # of the last restore, as kv, if that came to its end
mark=$state/warm-set.incomplete # while it is there, the snapshot is not to be replaced

force=''
child=''
status=0

usage() {
	cat <<-END
		Usage: warm-set.sh restore | save [--force]

		save writes down what is in memory of the files and folders in a list; restore brings
		that back. After a restore that was not whole, save leaves the snapshot as it is, which
		has what is still to be restored, until a restore is whole, or with --force.

		Variables, and what they are unless they are set:
		  WARM_SET_LIST             the list, a path a line ($list)
		  STATE_DIRECTORY           folder of the snapshot ($state)
		  WARM_SET_MIN              percent of the snapshot that are to be in memory after a
		                            restore that is whole though some files are gone ($min)
		  WARM_SET_TIMEOUT          of save and of restore ($timeout)
		  WARM_SET_IN_PART          yes: save although some of the list could not be looked at
		  WARM_SET_SAVE_OPTIONS     of resident(1), such as --exclude=*.tmp
		  WARM_SET_RESTORE_OPTIONS  of warm(1) ($restore_options)

		Exit status: 0 done; 1 restored in part, or not saved so that the snapshot stays;
		2 failed; 3 usage, or it cannot be told; 129, 130, 143 ended by a signal
	END
}

# say TEXT: names may hold any byte, and logs get no control characters
say() {
	printf 'warm-set: %s\n' "$1" | tr '\001-\011\013-\037\177' '?' >&2
}

# fail STATUS TEXT
fail() {
	say "$2"
	exit "$1"
}

# start COMMAND...: sets $status to how it ended. In the background, since the shell would
# not look after a signal before it has ended; without the lock, which it may outlive us with.
start() {
	status=0
	"$@" 9<&- &
	child=$!
	wait "$child" || status=$?
	child=''
}

# shellcheck disable=SC2317 # called by trap
# stop SIGNAL STATUS
stop() {
	trap '' HUP INT TERM
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null
		wait "$child" 2>/dev/null # the shell would say how it ended
	fi
	fail "$2" "stopped by SIG$1; $snapshot is as it was"
}

# On the folder, so that nothing stays behind. A save does not wait for a restore: it would
# hold up a shutdown.
lock_state() {
	[ -d "$state" ] || fail 2 "no folder $state: make it, for root only, as it will hold names of files"
	command exec 9<"$state/." || fail 2 "$state cannot be opened: see the message above"
	flock -n 9 || fail 1 "another save or restore is at work in $state: nothing was done"
}

# marks TEXT: why the snapshot is kept
marks() {
	{ printf '%s\n' "$1" >"$mark.new" && mv -f "$mark.new" "$mark"; } || {
		rm -f "$mark.new"
		fail 2 "$mark could not be written: see the message above"
	}
}

# field NAME: of the report, which is for eval
field() {
	(eval "$(cat "$report")" && eval "printf %s \"\${$1-}\"")
}

# saved: how many files and bytes the snapshot at PATH has, as its last line says
saved() {
	tail -n 1 "$1" | sed -n 's/^end	\([0-9][0-9]*\)	\([0-9][0-9]*\)$/\1 files, \2 bytes/p'
}

# Whether enough of the snapshot is in memory: some of its files are always gone, or others by
# now, and no later restore brings them back. Where it is much, a file system may be missing.
is_whole() {
	[ "$status" -eq 0 ] && return 0
	[ "$status" -eq 1 ] && [ -s "$report" ] || return 1 # the report is there if warm came to its end
	all=$(saved "$snapshot") all=${all#*, } all=${all% bytes}
	awk -v in_memory="$(field resident_bytes)" -v all="$all" -v min="${min%\%}" \
		'BEGIN { exit !(in_memory != "" && all != "" && 100 * in_memory >= min * all) }'
}

restore() {
	lock_state
	[ -s "$snapshot" ] || {
		rm -f "$mark"
		fail 0 "no snapshot $snapshot yet: nothing to restore"
	}
	# first: a crash on the way leaves it, too
	marks "a restore began at $(date) and did not end"
	rm -f "$report"
	# shellcheck disable=SC2086 # words
	start warm -f kv -o "$report" -t "$timeout" $restore_options --restore="$snapshot"
	if is_whole; then
		rm -f "$mark" || fail 2 "$mark cannot be removed, and nothing is saved while it is there"
		say "restored: $(field resident_bytes) bytes are in memory, of a snapshot of $(saved "$snapshot")"
		exit 0
	fi
	marks "the restore at $(date) was not whole: warm ended with status $status"
	say "not restored as a whole: see above why. Nothing is saved until a restore is whole, as by 'systemctl restart warm-set-restore', or until '$0 save --force'"
	[ "$status" -le 3 ] || status=2
	exit "$status"
}

# Whether there is a reason to keep the snapshot there is.
check_save() {
	[ -z "$force" ] || return 0
	[ ! -e "$mark" ] ||
		fail 1 "not saved, so that what is still to be restored stays: $(cat "$mark"). 'systemctl restart warm-set-restore' restores once more, '$0 save --force' gives it up"
}

# The same, once it is known what would take its place.
check_saved() {
	case $status in
	0) ;;
	1)
		[ "$in_part:$force" != no: ] ||
			fail 1 "not saved: some of $list could not be looked at, see above; mend that, or set WARM_SET_IN_PART=yes"
		;;
	3) fail 3 "not saved: resident was called wrongly, or not done within $timeout, as it says above" ;;
	*) fail 2 "not saved: resident ended with status $status" ;;
	esac
	case $(saved "$snapshot.new") in
	'') fail 2 "not saved: resident wrote no whole snapshot" ;;
	'0 files'*)
		[ ! -s "$snapshot" ] || [ -n "$force" ] ||
			fail 1 "not saved: nothing in $list is in memory, and $snapshot has $(saved "$snapshot"); is a file system not mounted?"
		;;
	esac
}

save() {
	lock_state
	check_save
	[ -r "$list" ] || fail 2 "not saved: no list $list: make one, of files and folders, one a line"
	trap 'rm -f "$snapshot.new"' EXIT
	# shellcheck disable=SC2086 # words
	start resident -q -f kv -o /dev/null -t "$timeout" $save_options --save="$snapshot.new" -T "$list"
	check_saved
	mv -f "$snapshot.new" "$snapshot" || fail 2 "not saved: see the message of mv above"
	rm -f "$mark" || fail 2 "$mark cannot be removed: see the message above"
	say "saved: $(saved "$snapshot")"
}

set -f # options are words, and no patterns
umask 077 # names of files may be secret
trap 'stop HUP 129' HUP
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM
case "$*" in
restore) restore ;;
save) save ;;
'save --force')
	force=yes
	save
	;;
-h | --help) usage ;;
*) fail 3 "restore or save is to be given, and nothing but --force behind save; try --help" ;;
esac
