#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio -- command, that is asked to end before the command does: what it counts, whom it
# ends, and whom not. By an estimate where nothing can be counted.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio
dd if=/dev/zero of="$TMP/file" bs=4096 count=2048 2>/dev/null
cp "$(command -v sleep)" "$TMP/sleep" # a name that nobody else's process has

# none_alive: whether no process runs that program
# shellcheck disable=SC2317 # until_true calls it
none_alive() {
	for exe in /proc/[0-9]*/exe; do
		[ "$(readlink "$exe" 2>/dev/null)" != "$TMP/sleep" ] || return 1
	done
}

# start COMMAND...: hitratio with these arguments, once the command has made $TMP/ready
start() {
	rm -f "$TMP/ready"
	"$hitratio" --estimate -f kv -o "$TMP/kv" "$@" 2>"$TMP/err" &
	counter=$!
	until_true test -e "$TMP/ready"
}

# finish: its exit status into $status
finish() {
	status=0
	wait $counter || status=$?
}

note "what the command reads after the signal"

# shellcheck disable=SC2016 # the inner shell's
last_words='trap "cat \"$1/file\" >/dev/null; exit 5" TERM INT; : >"$1/ready"; while :; do sleep 0.1; done'
for signal in TERM INT; do
	# a shell starts what runs in the background with SIGINT ignored
	start -- env --default-signal=INT sh -c "$last_words" sh "$TMP"
	kill -$signal $counter
	finish
	ok "SIG$signal: ends it" test "$status" -gt 128
	accesses=$(sed -n 's/^accesses\(_est\)*=\([0-9][0-9]*\)$/\2/p' "$TMP/kv")
	ok "SIG$signal: its last reads are counted ($accesses)" test "${accesses:-0}" -ge 2048
done
run "$hitratio" --estimate -f kv -t 1 -- sh -c "$last_words" sh "$TMP"
is "the time limit: exit 3" "$status" 3
accesses=$(printf '%s\n' "$err" | sed -n 's/^accesses\(_est\)*=\([0-9][0-9]*\)$/\2/p')
ok "the time limit: its last reads are counted ($accesses)" test "${accesses:-0}" -ge 2048

note "whom the time limit ends"

begin=$(date +%s)
run "$hitratio" --estimate -t 0.5 -- sh -c "'$TMP/sleep' 77; :"
is "exit 3" "$status" 3
ok "what the command had started is ended" until_true none_alive
run "$hitratio" --estimate -t 0.5 -- sh -c "(trap '' TERM; '$TMP/sleep' 77) & (trap '' TERM; '$TMP/sleep' 77); :"
ok "also what does not end by SIGTERM" until_true none_alive
run "$hitratio" --estimate -t 0.5 0.1 1 -- "$TMP/sleep" 77
is "after the last interval, too: exit 3" "$status" 3
ok "and it is ended" until_true none_alive
ok "none of this takes long" test "$(($(date +%s) - begin))" -lt 20

note "whoever insists"

# shellcheck disable=SC2016 # the inner shell's
deaf='trap "" TERM INT; : >"$1/ready"; exec "$1/sleep" 77'
start -- sh -c "$deaf" sh "$TMP"
kill -TERM $counter
sleep 0.5
ok "one signal: the command is waited for" kill -0 $counter
kill -TERM $counter
finish
is "a second one: status 143" "$status" 143
ok "its figures are there" test -s "$TMP/kv"
ok "the command goes on" test "$(none_alive; echo $?)" -eq 1
like "and that is said" "$(cat "$TMP/err")" "*goes on without us: process [0-9]*"
kill -KILL "$(sed -n 's/.*without us: process //p' "$TMP/err")"
until_true none_alive

start 0.1 1 -- sh -c "$last_words" sh "$TMP"
sleep 0.5
kill -TERM $counter
finish
is "after the last interval a signal is passed on: the command's status" "$status" 5

note "who cannot be followed"

if [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$hitratio" -- true
	is "without /proc: exit 3" "$status" 3
	like "without /proc: that is said" "$err" "*/proc*mounted*"
else
	skip "without /proc" "needs root"
fi
sleep 100 &
sleeper=$!
run sh -c 'ulimit -n 20; exec "$@"' sh "$hitratio" --tier proc -p $sleeper 0.1 1
is "few descriptors are enough to estimate" "$status" 0
run sh -c 'ulimit -n 3; exec "$@"' sh "$hitratio" --tier proc -p $sleeper 0.1 1
kill $sleeper
is "without descriptors: exit 3" "$status" 3
ok "without descriptors: not called a thread" test "$err" = "${err#*a thread}"

done_testing
