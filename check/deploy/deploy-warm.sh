#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The last step of a deploy: `deploy-warm.sh --help` tells. Copy it to where the deploy finds
# it. Next to warm it needs mv and ln that know -T (GNU, busybox), find -print0, mktemp, and
# flock and logger of util-linux.
set -u

min=95
timeout=10m
reload=''
keep_old='' dry_run='' syslog='' quiet=''

release=''     # the new folder, from the root on
release_said='' # as it was given
folder=''      # of the link, from the root on
base=''        # the link's name in it
old=''         # where the link points, from the root on; empty: nowhere
target=''      # what the link shall say

work=''      # a folder for reports and lists
temporary='' # the link before it has its name; empty: not made yet
child=''     # process that is waited for
status=0     # how that ended
result=0     # the exit status so far, once the link is switched

usage() {
	cat <<-END
		Usage: deploy-warm.sh [options] RELEASE LINK

		Bring the folder RELEASE into the page cache by warm(1), and if enough of it is in
		memory then, let the symbolic link LINK point to it, in one step. Then evict what
		LINK pointed to before, but for the files that processes still use, and those with
		several hard links, which RELEASE may share. A relative RELEASE makes a relative
		link. Two at once in one folder are refused.

		  --min=PCT          do not switch where less of RELEASE is in memory (default 95)
		  --timeout=DURATION give up warming, or evicting, after that (default 10m; 0: never)
		  --reload=COMMAND   for the shell, between switch and eviction
		  --keep-old         do not evict
		  --dry-run          tell what would be done, and do nothing
		  --syslog           log what was done, and what was not, as "deploy-warm"
		  -q, --quiet        no notes, only errors
		  -h, --help         show this

		For warming, as in warm(1): --budget, --cgroup, --exclude, --idle, --include, --jobs,
		--rate. With --cgroup the service that will read the release pays for its pages, not
		who deploys it.

		Exit status: 0 switched, and all is well; 1 switched, but what comes after that is
		incomplete; 2 not switched; 3 not switched: usage, or it cannot be told what is in
		memory; 129, 130, 143 ended by a signal, which a message says more about.
	END
}

# say PRIORITY TEXT: names may hold any byte, and the terminal gets no control characters
say() {
	said=$(printf %s "$2" | tr '\001-\037\177' '?')
	[ "$1:$quiet" = notice:yes ] || printf 'deploy-warm: %s\n' "$said" >&2
	[ -n "$syslog" ] || return 0
	# without that option it takes a missing /dev/log for none of its business
	logger --socket-errors=on -t deploy-warm -p "user.$1" -- "$said" && return 0
	printf 'deploy-warm: that is not in the system log: see the message of logger above\n' >&2
	worsen
}

# refuse STATUS TEXT: nothing was switched
refuse() {
	say err "$2; not switched"
	exit "$1"
}

misuse() {
	say err "$1; try --help"
	exit 3
}

worsen() {
	result=1
}

# incomplete TEXT: what does not go well once the link is switched
incomplete() {
	say warning "switched, but $1"
	worsen
}

# physical FOLDER: sets $physical to its name from the root on, without links, whatever bytes
# that ends with
physical() {
	case $1 in
	/*) physical=$1 ;;
	*) physical=./$1 ;; # a plain - is another folder for cd
	esac
	physical=$(CDPATH='' cd -P "$physical" 2>/dev/null && pwd -P && echo .) || return
	physical=${physical%??}
}

# relative FROM TO: sets $relative to what leads from one folder to another, both of physical
relative() {
	relative_from=${1%/} relative=''
	while :; do
		case $2/ in
		"$relative_from"/*) break ;;
		esac
		relative_from=${relative_from%/*}
		relative=../$relative
	done
	relative_rest=$2/
	relative=$relative${relative_rest#"$relative_from"/}
	relative=${relative%/}
}

# within FOLDER OTHER: whether it is that folder or below it
within() {
	case $1/ in
	"${2%/}"/*) true ;;
	*) false ;;
	esac
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

# field NAME: of warm's report, which is for eval
field() {
	(eval "$(cat "$work/report")" && eval "printf %s \"\${$1-}\"")
}

# share: how much of the release is in memory, or would be
share() {
	if [ -n "$dry_run" ]; then
		printf '%s of %s bytes would be' "$(($(field size_bytes) - $(field skipped_bytes)))" \
			"$(field size_bytes)"
		return
	fi
	ratio=$(field ratio)
	printf '%s %% is' "${ratio:--}" # that of no bytes is not known
}

# --- before

# parse_word OPTION: one of ours, with its value
parse_word() {
	case $1 in
	--min=*) min=${1#*=} ;;
	--timeout=*) timeout=${1#*=} ;;
	--reload=*) reload=${1#*=} ;;
	--keep-old) keep_old=yes ;;
	--dry-run) dry_run=yes ;;
	--syslog) syslog=yes ;;
	-q | --quiet) quiet=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	*) misuse "no option $1" ;;
	esac
}

need() {
	for program; do
		command -v "$program" >/dev/null ||
			misuse "$program is not to be found in PATH ($PATH)"
	done
}

# find_link LINK: sets $folder and $base
find_link() {
	link=$1
	while :; do
		case $link in
		?*/) link=${link%/} ;;
		*) break ;;
		esac
	done
	base=${link##*/}
	case $base in
	'' | . | ..) misuse "LINK must be the name of a symbolic link, not $1" ;;
	esac
	case $link in
	*/*) folder=${link%/*}/ ;;
	*) folder=. ;;
	esac
	physical "$folder" || refuse 2 "no folder $folder for the link: make it first"
	folder=$physical
}

# Two that warm, switch and evict at once would evict what the other one just warmed. The
# lock is on the folder itself, so that no file stays behind.
lock_folder() {
	command exec 9<"$folder/." || refuse 2 "$folder cannot be opened: see the message above"
	flock -n 9 || refuse 2 "another deploy is at work in $folder: try again when it is done"
}

# Sets $release, $target and $old to what they are now.
look() {
	physical "$release_said" || refuse 2 "$release_said is no folder that can be entered"
	release=$physical
	case $release_said in
	/*) target=$release_said ;;
	*) relative "$folder" "$release" && target=${relative:-.} ;;
	esac
	old=''
	if [ -L "$folder/$base" ]; then
		! physical "$folder/$base" || old=$physical
	elif [ -e "$folder/$base" ]; then
		refuse 2 "$folder/$base is no symbolic link: move it away, or give another LINK"
	fi
}

# --- the steps

# warm_release OPTION...
warm_release() {
	start warm -f kv -o "$work/report" -t "$timeout" --min="$min" ${quiet:+-q} \
		${dry_run:+--dry-run} "$@" "$release"
	case $status in
	0) ;;
	1) check_partly ;;
	2) refuse_cold ;;
	3)
		check_any
		refuse 3 "warm cannot tell what is in memory, or was called wrongly: see its message above"
		;;
	*) refuse 2 "warm ended with status $status" ;;
	esac
}

# Nothing is not warm.
check_any() {
	[ -s "$work/report" ] && [ "$(field size_bytes):$(field failed_files)" = 0:0 ] || return 0
	refuse 2 "there are no files in $release, or only empty ones (--min=0 switches even so)"
}

# Where warm has not come to its end, what it has seen is not the whole release.
check_whole() {
	[ -s "$work/report" ] ||
		refuse 2 "$release is not warm: warm failed, or was not done within --timeout=$timeout, as it says above"
}

# It has done only a part, but --min holds.
check_partly() {
	check_whole
	[ "$(field failed_files)" = 0 ] ||
		refuse 2 "of $release, $(field failed_files) files or folders could not be opened, read or measured (see above): mend that, or leave them out by --exclude"
}

refuse_cold() {
	check_whole
	refuse 2 "of $release, $(share) in memory, not the $min % of --min: make room, allow more by --budget, or ask for less"
}

switch() {
	made=$folder/.$base.deploy-warm
	if [ -L "$made" ]; then # of one that was killed: we have the lock
		rm -f "$made" || refuse 2 "$made is in the way and cannot be removed"
	fi
	temporary=$made
	ln -s -T -- "$target" "$temporary" || {
		temporary=''
		refuse 2 "$made could not be made: see the message of ln above"
	}
	# rename(2) replaces the old link in one step: there always is one
	mv -f -T "$temporary" "$folder/$base" ||
		refuse 2 "$folder/$base could not be replaced: see the message of mv above"
	temporary=''
	say notice "$folder/$base points to $target now; of that, $(share) in memory"
}

# Whether the processes that used the old release use the new one now.
reload() {
	[ -n "$reload" ] || return 0
	start sh -c "$reload"
	[ "$status" -eq 0 ] && return 0
	incomplete "--reload ended with status $status: the old release $old, which may still be in use, is not evicted"
	return 1
}

# Whether there is something to evict.
has_old() {
	[ -n "$old" ] && [ -z "$keep_old" ] || return 1
	if within "$release" "$old" || within "$old" "$release"; then
		incomplete "$old is not evicted, as one release lies within the other; --keep-old leaves it without this message"
		return 1
	fi
}

# list_old TEST...: the files that meet it. What is mounted there is not the release's own.
list_old() {
	find "$old" -xdev -type f "$@" -print0
}

# A list that is not whole may end with half a name, which is that of something else.
evict_old() {
	{ list_old -links 1 >"$work/list" && list_old ! -links 1 >"$work/shared"; } || {
		incomplete "$old is not evicted: it could not be looked through, or the list of its files not be written to $work (see the message above; TMPDIR tells where else)"
		return
	}
	shared=$(tr -dc '\0' <"$work/shared" | wc -c)
	[ "$shared" -eq 0 ] ||
		say notice "$shared files of $old stay as they are: they have several hard links, and may be part of the new release"
	[ -s "$work/list" ] || return 0
	rm -f "$work/report"
	start warm --evict -f kv -o "$work/report" -t "$timeout" ${quiet:+-q} -0 -T "$work/list"
	case $status in
	0) say notice "$(field evicted_bytes) bytes of $old evicted" ;;
	1) explain_stayed ;;
	*) incomplete "$old is not evicted: warm --evict ended with status $status, see its message above" ;;
	esac
}

# What processes use is theirs. The rest should not have stayed.
explain_stayed() {
	[ -s "$work/report" ] || {
		incomplete "$old was not evicted within --timeout=$timeout"
		return
	}
	[ "$(field failed_files)" = 0 ] ||
		incomplete "$(field failed_files) files of $old could not be evicted: see above"
	for bytes in dirty tmpfs edge unknown; do
		[ "$(field ${bytes}_bytes)" = 0 ] || {
			incomplete "not all of $old is out of memory: see above"
			break
		}
	done
	say notice "$(field evicted_bytes) bytes of $old evicted; $(field skipped_files) files are left as they are or may be in use, which 'warm --evict' does later"
}

tell() {
	if [ "$old" = "$release" ]; then
		say notice "$folder/$base would be left as it is: it points to $target; of that, $(share) in memory"
		return
	fi
	say notice "$folder/$base would point to $target; of that, $(share) in memory"
	! has_old || say notice "$old would be evicted, but for what processes use"
}

# --- the end

# shellcheck disable=SC2317 # called by trap
clean() {
	[ -z "$temporary" ] || rm -f "$temporary"
	[ -z "$work" ] || rm -rf "$work"
}

# stop SIGNAL STATUS
# shellcheck disable=SC2317 # called by trap
stop() {
	trap '' HUP INT TERM
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null
		wait "$child" 2>/dev/null # the shell would say how it ended
	fi
	look_now=''
	[ -z "$folder" ] || look_now=$(readlink "$folder/$base" 2>/dev/null)
	say err "stopped by SIG$1; ${link:-LINK} points to ${look_now:-nothing}"
	exit "$2"
}

main() {
	kept=0 # of the last words, those for warm
	while [ $# -gt "$kept" ]; do
		case $1 in
		--min | --timeout | --reload | --budget | --cgroup | --exclude | --include | --jobs | --rate)
			[ $# -gt $((kept + 1)) ] || misuse "$1 needs a value"
			word=$1=$2
			shift
			;;
		--)
			shift
			break
			;;
		-?*) word=$1 ;;
		*) break ;;
		esac
		shift
		case $word in
		--budget=* | --cgroup=* | --exclude=* | --idle | --include=* | --jobs=* | --rate=*)
			set -- "$@" "$word"
			kept=$((kept + 1))
			;;
		*) parse_word "$word" ;;
		esac
	done
	[ $# -eq $((kept + 2)) ] || misuse "RELEASE and LINK are to be given, and nothing after them"
	release_said=$1
	find_link "$2"
	shift 2
	need warm find flock mktemp readlink ${syslog:+logger}

	trap clean EXIT
	trap 'stop HUP 129' HUP
	trap 'stop INT 130' INT
	trap 'stop TERM 143' TERM
	work=$(mktemp -d) || refuse 2 "no folder for temporary files: see the message above"
	lock_folder
	look
	warm_release "$@"
	look # it took its time
	if [ -n "$dry_run" ]; then
		tell
	elif [ "$old" = "$release" ]; then
		say notice "$folder/$base points to $target already; of that, $(share) in memory"
	else
		switch
		! reload || ! has_old || evict_old
	fi
	exit "$result"
}

main "$@"
