# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154 # some variables are for the tests, or of lib.sh
# What the tests of lock have in common, after lib.sh: a folder to work in, and lock in the
# background.

pages=$BUILD/tests/pages
page=$(getconf PAGESIZE)
cp "$BUILD/lock" "$pages" "$BUILD/tests/enosys" "$TMP" # where any user finds them
lock=$TMP/lock
mkdir "$TMP/w"
cd "$TMP/w" || exit 1

# file NAME PAGES [BYTES]: makes a file of so many pages and bytes, clean and cold
file() {
	head -c $(($2 * page + ${3:-0})) /dev/urandom >"$1"
	"$pages" --evict "$1"
}

# row [RECORD]: files asked pinned lost released repinned state
row() {
	echo "$(value files "$1") $(value asked_bytes "$1") $(value pinned_bytes "$1")" \
		"$(value lost_bytes "$1") $(value released_bytes "$1") $(value repinned_bytes "$1")" \
		"$(value state "$1")"
}

# start ARGUMENT...: in the background, below the command $around, if any, until its first report
# is out; sets $pid
pid=
start() {
	: >"$TMP/.out"
	# shellcheck disable=SC2086 # words
	$around "$lock" -f kv "$@" >"$TMP/.out" 2>"$TMP/.err" &
	pid=$!
	tries=400
	while [ $tries -gt 0 ] && ! grep -q '^state=' "$TMP/.out" && kill -0 $pid 2>/dev/null; do
		sleep 0.05
		tries=$((tries - 1))
	done
	out=$(cat "$TMP/.out")
	err=$(cat "$TMP/.err")
}

# stop [SIGNAL]: ends it; sets $status, $out and $err
stop() {
	kill -"${1:-TERM}" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
	pid=
	out=$(cat "$TMP/.out")
	err=$(cat "$TMP/.err")
}
# shellcheck disable=SC2016 # for then
on_exit '[ -z "$pid" ] || kill $pid'

# left NAME: what is left after an eviction
left() {
	"$pages" --evict "$1"
	"$pages" "$1"
}
