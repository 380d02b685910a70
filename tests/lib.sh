# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # status, out and err are for the tests
# TAP for the tests in POSIX shell. A test begins with
#	. "$(dirname "$0")/lib.sh"
# and ends with done_testing. It may write below $TMP (on disk, not tmpfs, unless
# TMPDIR says so; any user may look into it), which is gone at its end.

BUILD=${BUILD:-$PWD/build} # the tools; their test helpers are in $BUILD/tests
PATH=$PATH:$BUILD/tools:/usr/sbin:/sbin # promtool; mkfs and bpftool, also for a plain user
tests_run=0
tests_failed=0
at_exit=:

TMP=$(mktemp -d "${TMPDIR:-/var/tmp}/hotset.XXXXXX") || exit 1
chmod 755 "$TMP"
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# A test that leaves something mounted, or still written to, fails, and says it.
clean_up() {
	clean_status=$?
	eval "$at_exit"
	rm -rf "$TMP" || clean_status=1
	exit $clean_status
}

# on_exit 'COMMAND': before $TMP is removed, the last one first (such as umount).
on_exit() {
	at_exit="$1; $at_exit"
}

# until_true COMMAND...: waits for it to come true, for twenty seconds
until_true() {
	until_end=$(($(date +%s) + 20))
	until "$@" 2>/dev/null; do
		[ "$(date +%s)" -lt $until_end ] || return 1
		sleep 0.05
	done
}

# verdict STATUS NAME
verdict() {
	tests_run=$((tests_run + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$tests_run" "$2"
	else
		tests_failed=$((tests_failed + 1))
		printf 'not ok %d - %s\n' "$tests_run" "$2"
	fi
	return "$1"
}

# note TEXT...: lines of diagnosis
note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# ok NAME COMMAND...: the command succeeds
ok() {
	ok_name=$1
	shift
	"$@"
	verdict $? "$ok_name"
}

# is NAME GOT WANTED: the texts are the same
is() {
	[ "$2" = "$3" ]
	verdict $? "$1" || {
		note "got:    $2"
		note "wanted: $3"
		return 1
	}
}

# like NAME GOT PATTERN: the text matches the shell pattern
like() {
	# shellcheck disable=SC2254 # the pattern is meant as one
	case $2 in $3) true ;; *) false ;; esac
	verdict $? "$1" || {
		note "got:     $2"
		note "pattern: $3"
		return 1
	}
}

# run COMMAND...: sets $status, $out and $err (also in the files $TMP/.out, $TMP/.err)
run() {
	status=0
	"$@" >"$TMP/.out" 2>"$TMP/.err" || status=$?
	out=$(cat "$TMP/.out")
	err=$(cat "$TMP/.err")
}

# on_terminal COMMAND: prints what the shell's COMMAND writes to a terminal
on_terminal() {
	script -qec "$1" /dev/null </dev/null | tr -d '\r'
}

# value FIELD [RECORD]: of the record with that number in $out, which is kv; the first unless told
value() {
	printf '%s\n' "$out" | awk -v field="$1" -v number="${2:-1}" -v RS= -F '\n' '
		NR == number { for (i = 1; i <= NF; i++)
			if (index($i, field "=") == 1) print substr($i, length(field) + 2) }'
}

# skip NAME REASON: one test that cannot be run here
skip() {
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# skip_all REASON: the whole file
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
}

# need PROGRAM...
need() {
	for program; do
		command -v "$program" >/dev/null || skip_all "needs $program"
	done
}

# as_nobody COMMAND...: without privilege; only root can do this
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

# mounted NAME MOUNT-ARGUMENT...: mounts on the folder NAME until the end; ./mount.err says why not
mounted() {
	mkdir -p "$1" && mounted_on=$1 && shift
	mount "$@" "$mounted_on" 2>mount.err || return 1
	on_exit "umount -l '$PWD/$mounted_on'"
}

has_cgroup() {
	[ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ] && [ "$(id -u)" -eq 0 ]
}

# in_cgroup LIMIT COMMAND...: as run, in a new memory cgroup (version 1), below the command
# $around, if any; sets $killed, how many processes the OOM killer took
around=
in_cgroup() {
	group=/sys/fs/cgroup/memory/hotset-test.$$
	mkdir "$group" || return
	echo "$1" >"$group/memory.limit_in_bytes"
	shift
	# shellcheck disable=SC2016,SC2086 # the inner shell's; words
	run $around sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@"
	killed=$(sed -n 's/^oom_kill //p' "$group/memory.oom_control")
	rmdir "$group"
}

done_testing() {
	echo "1..$tests_run"
	[ "$tests_failed" -eq 0 ]
	exit
}
