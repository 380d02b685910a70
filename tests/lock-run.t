#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # ok, run and until_true call functions
# lock as a service: in the background, by its pid file, under a service manager
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need setpriv unshare flock timeout

source=$(realpath "$(dirname "$0")/..")
pages=$BUILD/tests/pages
listen=$BUILD/tests/listen
page=$(getconf PAGESIZE)
cp "$BUILD/lock" "$pages" "$TMP" # where any user finds them
lock=$TMP/lock
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
pids=
# shellcheck disable=SC2016 # for then
on_exit 'for pid in $pids; do kill -KILL $pid 2>/dev/null; done'

# file NAME PAGES: makes a file of so many pages, clean and cold
file() {
	head -c $(($2 * page)) /dev/urandom >"$1"
	"$pages" --evict "$1"
}

# until_true COMMAND...: waits for it to come true, for five seconds
until_true() {
	tries=100
	until "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

# in_file TEXT FILE [COUNT]: whether a line of it holds that, so many times
in_file() {
	[ "$(grep -c -- "$1" "$2")" -ge "${3:-1}" ]
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

# left NAME: what is left after an eviction
left() {
	"$pages" --evict "$1"
	"$pages" "$1"
}

# start ARGUMENT...: in the background of the shell, until its first report; sets $pid
start() {
	: >out
	"$lock" -f kv "$@" >out 2>err &
	pid=$!
	pids="$pids $pid"
	until_true has_begun
}

has_begun() {
	in_file '^state=pinned' "${reported:-out}" || is_gone "$pid"
}

# stop [SIGNAL]: sets $status
stop() {
	kill -"${1:-TERM}" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
}

# end PIDFILE: of one that is detached
end() {
	pid=$(cat "$1")
	kill "$pid"
	until_true is_gone "$pid"
}

file a 60
file b 20
asked=$((60 * page))

### In the background

run timeout 20 "$lock" --detach --pidfile="$TMP/pid" -f kv "$TMP/w/a"
pid=$(cat "$TMP/pid")
pids="$pids $pid"
is "--detach returns when all is pinned, and says so" \
	"$status:$err:$(value pinned_bytes):$(value state)" "0::$asked:pinned"
is "an eviction takes nothing then" "$(left a)" 60/60
is "it is a session's, but does not lead it, and is init's child" "$(
	# after the name, which is in parentheses: state, parent, group, session
	sed 's/.*) //' "/proc/$pid/stat" | {
		read -r _ parent _ session _
		[ "$session" != "$pid" ] && [ "$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 4)" != "$session" ] &&
			[ "$parent" != $$ ] && echo yes
	}
)" yes
is "its working folder" "$(readlink "/proc/$pid/cwd")" /
is "its standard files" "$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | sort -u)" /dev/null
is "it goes first when memory is short" "$(cat "/proc/$pid/oom_score_adj")" 1000
end "$TMP/pid"
is "SIGTERM ends it, and lets go" "$(left a)" 0/60
ok "the pid file is gone, and the socket" [ ! -e "$TMP/pid" ] && [ ! -e "$TMP/pid.sock" ]

run timeout 20 "$lock" --detach --pidfile=pid -f kv a
is "names that are seen from the working folder keep it" "$(readlink "/proc/$(cat pid)/cwd")" "$TMP/w"
end pid
run timeout 20 "$lock" --detach --max "$((asked - 1))" a
like "what is refused is the caller's to know" "$status:$err" "2:lock: refused: *"
run timeout 20 "$lock" --detach missing
like "so is a file that is missing" "$status:$err" "2:lock: missing: *"
run timeout 20 "$lock" --detach --pidfile=pid missing a
is "or one of several" "$status:$err" "1:lock: missing: No such file or directory"
run timeout 20 "$lock" --status=pid -f kv
is "what is pinned in part is told so" "$status:$(value pinned_bytes)" "1:$asked"
end pid
run timeout 20 "$lock" --detach --for=0.3 --pidfile=pid -o report -f kv a
ok "--for ends it by itself" until_true test ! -e pid
is "the last report is in the file" "$(grep ^state= report)" state=released
timeout 20 "$lock" --detach --pidfile=pid a 9>held 2>&1 | cat >/dev/null
ok "nothing of the caller's stays open" flock -n held true
is "the caller's pipe for one" "$(find "/proc/$(cat pid)/fd" -lname 'pipe:*' | wc -l)" 0
end pid
if unshare -m true 2>/dev/null; then
	mkdir many
	head -c $((700 * page)) /dev/urandom | split -b "$page" -a 3 - many/
	echo 600 >most # mappings a process: 301 files
	# shellcheck disable=SC2016 # the inner shell's
	run timeout 20 unshare -m sh -c 'mount --bind most /proc/sys/vm/max_map_count &&
		"$1" -v --detach --pidfile="$PWD/pid" "$PWD/many" 2>&1 | cat' sh "$lock"
	is "nor of its workers'" "$status:$("$lock" --status=pid -f kv | grep ^pinned)" "0:pinned_bytes=$((700 * page))"
	like "of which there are as many as it takes" "$out" "*700 files, *: 3 processes share them*"
	workers=$(ls "/proc/$(cat pid)/task/$(cat pid)/children" >/dev/null 2>&1 && cat "/proc/$(cat pid)/task/$(cat pid)/children")
	is "whose working folder is" "$(for worker in $workers; do readlink "/proc/$worker/cwd"; done | sort -u)" /
	kill -KILL "$(cat pid)"
	sleep 0.3
	run timeout 20 "$lock" --pidfile=pid --for=0.1 a
	is "and which do not keep the pid file, when it is killed" "$status:$err" "0:"
else
	skip "nor of its workers'" "needs root"
fi
mkfifo names
"$lock" --detach --pidfile=pid -T names >/dev/null 2>&1 &
caller=$!
until_true in_file . pid
pid=$(cat pid)
pids="$pids $pid"
kill -KILL $caller
wait $caller 2>/dev/null
echo a >names
ok "a caller that did not wait is obeyed: nothing is held" until_true is_gone "$pid"
ok "and nothing left" [ ! -e pid ]

### The pid file

start --pidfile=pid a
is "it holds the process id" "$(cat pid)" "$pid"
inode=$(stat -c %i pid)
run timeout 20 "$lock" --pidfile=pid b
is "no second one starts with it" "$status:$err" "2:lock: pid: process $pid runs with this pid file"
is "which harms nothing" "$(cat pid):$(stat -c %i pid)" "$pid:$inode"
stop KILL
ok "SIGKILL leaves it" [ -e pid ]
is "but nothing pinned" "$(left a)" 0/60
run timeout 20 "$lock" --status=pid
is "--status sees that it does not run" "$status:$out:$err" \
	"2::lock: pid: nothing runs with this pid file, which was left behind"
start --pidfile=pid a
is "the next one starts" "$(cat pid):$("$lock" --status=pid -f kv | grep ^state)" "$pid:state=pinned"
stop
is "and removes it" "$status:$(ls pid* 2>&1)" "143:ls: cannot access 'pid*': No such file or directory"
echo precious >pid
run timeout 20 "$lock" --pidfile=pid a
is "a file that is something else is left alone" "$status:$err:$(cat pid)" \
	"2:lock: pid: something else is there, not a pid file:precious"
rm pid
ln -s elsewhere pid
run timeout 20 "$lock" --pidfile=pid a
like "a link is not followed" "$status:$err:$(ls elsewhere 2>/dev/null)" "2:lock: pid: something else*:"
rm pid
run timeout 20 "$lock" --pidfile="missing/pid" a
like "a folder that is missing" "$status:$err" "2:lock: missing/pid: No such file*"
long=$(printf '%0100d' 0)
run timeout 20 "$lock" --pidfile="$long" a
like "a name too long for a socket" "$status:$err:$(ls "$long" 2>/dev/null)" "2:lock: $long: too long*:"
mkdir tree
start --pidfile=tree/pid tree a
run timeout 20 "$lock" --pidfile=tree/pid b
is "a pid file within what is pinned: its lock stays" "$status" 2
stop
# many at a time: one has it, whoever that is, and it is one at any time
for i in 1 2 3 4 5 6 7 8; do
	{ "$lock" --pidfile=pid --for=20 -f kv b >"many.$i" 2>/dev/null; echo $? >"many.$i.status"; } &
	pids="$pids $!"
done
seven_ended() {
	[ "$(cat many.*.status | wc -l)" -eq 7 ]
}
until_true seven_ended
is "of eight that start at a time, one goes on" "$(cat many.*.status | sort | uniq -c | tr -s ' ')" " 7 2"
is "and it is the pid file's" "$("$lock" --status=pid -f kv | grep ^state)" state=pinned
kill "$(cat pid)"
wait

### What it says when asked

start --pidfile=pid a b
run timeout 20 "$lock" --status=pid -f kv
is "--status: a record each, and 0" "$status:$err:$(value path) $(value pinned_bytes) $(value path 2) $(value pinned_bytes 2)" \
	"0::a $asked b $((20 * page))"
run timeout 20 "$lock" --status=pid
like "--status for people" "$status:$err:$out" "0::*FILES*240K*80K*320K*total"
for format in tsv json prom; do
	run timeout 20 "$lock" --status=pid -f $format
	like "--status -f $format" "$status:$err:$out" "0::*$asked*"
done
run timeout 20 "$lock" --status=pid -f json -o report
is "--status -o" "$status:$out:$(wc -l <report)" "0::2"
status=0
"$lock" --status=pid >/dev/full 2>err || status=$?
like "--status on a full disk" "$status:$(cat err)" "2:lock: output: No space left on device"
if [ "$(id -u)" -eq 0 ]; then
	run as_nobody "$lock" --status="$TMP/w/pid"
	like "others may not ask" "$status:$out:$err" "3::lock: *only root*"
else
	skip "others may not ask" "needs root"
fi
kill -STOP "$pid"
run timeout 20 "$lock" --status=pid -t 0.3
kill -CONT "$pid"
like "one that hangs is not waited for" "$status:$out:$err" "3::lock: pid: process $pid does not answer*"
# somebody connects and says nothing, or goes away
if command -v socat >/dev/null; then
	socat -u "UNIX-CONNECT:pid.sock,type=5" OPEN:/dev/null & # SOCK_SEQPACKET
	silent=$!
	sleep 0.2
	run timeout 20 "$lock" --status=pid -f kv
	is "who connects and says nothing does not keep others waiting" "$status" 0
	kill $silent 2>/dev/null
	wait $silent 2>/dev/null
else
	skip "who connects and says nothing does not keep others waiting" "needs socat"
fi
kill -USR1 "$pid"
ok "SIGUSR1 prints the rows" until_true in_file '^state=pinned' out 4
stop
is "none is told after the end" "$status:$(ls pid* 2>/dev/null)" "143:"
start --pidfile=pid a
truncate -s $((10 * page)) a
run timeout 20 "$lock" --status=pid -f kv
file a 60
stop
run timeout 20 "$lock" --status=pid
is "no such pid file" "$status:$err" "2:lock: pid: nothing runs with this pid file"
run timeout 20 "$lock" --status=b
is "no pid file at all" "$status:$err" "3:lock: b: no pid file"
rm -f report
reported=report
start -o report --pidfile=pid a
reported=
rm report
kill -USR1 "$pid"
ok "with -o, SIGUSR1 replaces the report" until_true in_file '^state=pinned' report
stop

for wrong in "--status=pid a" "--status=pid -- true" "--detach a -- true" "--for=1 a -- true" \
	"--dry-run --detach a" "--for=x a"; do
	# shellcheck disable=SC2086 # words
	run timeout 20 "$lock" $wrong
	like "mistake: $wrong" "$status:$out:$err" "3::lock: *"
done
run timeout 20 "$lock" --for=0.2 -f kv a
is "--for in the foreground" "$status:$(value state 2)" "0:released"

### The service manager

# manager ADDRESS: listens there; sets $manager
manager() {
	: >told
	"$listen" "$1" >told 2>&1 &
	manager=$!
	pids="$pids $manager"
	sleep 0.2
}

end_manager() {
	sleep 0.1 # what was sent is read by then
	kill $manager
	wait $manager 2>/dev/null
	rm -f socket
}

for address in "$TMP/w/socket" "@hotset-test-$$"; do
	manager "$address"
	NOTIFY_SOCKET=$address WATCHDOG_USEC=400000 start a
	until_true in_file WATCHDOG=1 told 3
	stop
	end_manager
	is "$(echo "$address" | cut -c 1): READY, with how much is pinned" "$(head -n 1 told)" \
		"READY=1 MAINPID=$pid WATCHDOG_USEC=400000 STATUS=240K of 240K pinned"
	ok "signs of life" in_file '^WATCHDOG=1$' told 3
	is "STOPPING" "$(tail -n 1 told)" STOPPING=1
done
manager "$TMP/w/socket"
NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=400000 start a
sleep 2.1
stop
end_manager
beats=$(grep -c ^WATCHDOG=1 told)
ok "two signs in each interval: $beats in five" [ "$beats" -ge 10 ] && [ "$beats" -le 12 ]
manager "$TMP/w/socket"
NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=400000 WATCHDOG_PID=1 start a
sleep 0.5
stop
end_manager
is "none where another process is to give them" "$(grep -c WATCHDOG=1 told)" 0
manager "$TMP/w/socket"
NOTIFY_SOCKET=$TMP/w/socket run "$lock" --max 1 a
end_manager
is "what is refused is never ready" "$status:$(cat told)" "2:"
run env NOTIFY_SOCKET="$TMP/w/nobody" "$lock" --for 0.2 a
like "a manager that is not there is said" "$status:$err" "0:lock: *NOTIFY_SOCKET*No such file*"
run env NOTIFY_SOCKET=relative "$lock" --for 0.2 a
like "an address that is none" "$status:$err" "2:lock: NOTIFY_SOCKET: *"
# shellcheck disable=SC2016 # the inner shell's
run env NOTIFY_SOCKET=@nobody WATCHDOG_USEC=1000000 "$lock" a -- sh -c 'echo "$NOTIFY_SOCKET$WATCHDOG_USEC"'
is "a command cannot speak for us" "$status:$out" "0:"

### Reload

file c 30
manager "$TMP/w/socket"
echo a >list
NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=400000 start -T list --pidfile=pid
printf '%s\n' b c >list
kill -HUP "$pid"
ok "SIGHUP: what the list names now is pinned" until_true in_file "^pinned_bytes=$((50 * page))" out
is "and stays" "$(left b) $(left c)" "20/20 30/30"
is "what it names no more is let go" "$(left a)" 0/60
run timeout 20 "$lock" --status=pid -f kv
is "--status tells of the new" "$status:$(value files) $(value pinned_bytes)" "0:2 $((50 * page))"
stop
end_manager
like "the manager knows when it begins and ends" "$(cat told)" "READY=1 *
RELOADING=1 MONOTONIC_USEC=[0-9]* WATCHDOG_USEC=[0-9]*
*READY=1 MAINPID=$pid WATCHDOG_USEC=400000 STATUS=200K of 200K pinned*
STOPPING=1"
echo a >list
run timeout 20 "$lock" --detach --pidfile=pid -T list --max "$asked" -o report -f kv
pid=$(cat pid)
pids="$pids $pid"
printf '%s\n' a b >list
kill -HUP "$pid"
sleep 0.3
is "what is too much is refused: what was pinned stays" "$(left a) $("$lock" --status=pid -f kv | grep ^pinned)" \
	"60/60 pinned_bytes=$asked"
rm list
kill -HUP "$pid"
sleep 0.3
is "so it is where the list is gone" "$(left a) $("$lock" --status=pid -f kv | grep ^pinned)" \
	"60/60 pinned_bytes=$asked"
end pid
start a
stop HUP
is "elsewhere, SIGHUP ends it" "$status" 129

### The system log

if unshare -m true 2>/dev/null; then
	mkdir log
	echo a >list
	# a log of our own in the place of the machine's
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c '
		mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9
		"$2" /dev/log >logged & listener=$!
		sleep 0.3
		NOTIFY_SOCKET=@nobody "$1" --syslog -T list >/dev/null 2>&1 & pid=$!
		sleep 0.5; kill -HUP $pid; sleep 0.5; kill $pid; wait $pid; kill $listener' \
		sh "$lock" "$listen"
	like "--syslog: an event goes to the system log" "$(cat logged)" "<13>* lock: reloaded: 240K of 240K pinned"
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c '
		mount -t tmpfs none /dev && mknod /dev/null c 1 3
		NOTIFY_SOCKET=@nobody "$1" --syslog -T list >/dev/null 2>err & pid=$!
		sleep 0.5; kill -HUP $pid; sleep 0.5; kill $pid; wait $pid' sh "$lock"
	like "a log that is not there is said, and does not end it" "$status:$(cat err)" \
		"143:*lock: the system log (/dev/log) does not take messages: No such file or directory"
else
	skip "--syslog" "needs root"
fi

### An end that hangs: here, the last report goes to a pipe that is full

mkfifo full
exec 7<>full
head -c $((65536 - 200)) /dev/zero >&7
"$lock" -f kv a >&7 2>err &
pid=$!
pids="$pids $pid"
sleep 0.5
ok "the first report fits" [ "$(awk '/^VmLck/ { print $2 * 1024 }' "/proc/$pid/status")" -eq "$asked" ]
kill "$pid"
sleep 1
is "all is let go meanwhile" "$(left a)" 0/60
stop
is "what hangs at the end is ended, as by the signal that asked for it" "$status" 143
exec 7<&-

### The unit

unit=$source/check/systemd/hotset-lock.service
if command -v systemd-analyze >/dev/null; then
	root=$TMP/root
	mkdir -p "$root/usr/local/bin" "$root/bin" "$root/etc/systemd/system" "$root/usr/lib"
	cp "$BUILD/lock" "$root/usr/local/bin/"
	cp /bin/kill "$root/bin/"
	cp "$unit" "$root/etc/systemd/system/"
	cp -R /usr/lib/systemd "$root/usr/lib/" 2>/dev/null
	run systemd-analyze verify --man=no --root="$root" /etc/systemd/system/hotset-lock.service
	is "the unit is one" "$status:$out$err" "0:"
	run systemd-analyze security --no-pager --offline=yes --root="$root" --threshold=25 hotset-lock.service
	is "what it may do is little" "$status" 0
else
	skip "the unit" "needs systemd-analyze"
fi
# what it runs, with what it may do at most; another user's files, which root alone may read
if [ "$(id -u)" -eq 0 ]; then
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr '[:upper:] ' '[:lower:],' | sed 's/cap_/+/g')
	file d 8
	chown 65534 d
	chmod 600 d
	echo d >list
	words=$(sed -n 's/^ExecStart=[^ ]* \(.*\) [$]LOCK_OPTIONS .*/\1/p' "$unit" |
		sed "s,--syslog ,,; s,/run/hotset-lock/,,")
	manager "$TMP/w/socket"
	# shellcheck disable=SC2086 # words
	NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=1000000 setpriv --no-new-privs --inh-caps=-all \
		--bounding-set="-all,$caps" "$lock" -f kv $words --files-from=list >out 2>err &
	pid=$!
	pids="$pids $pid"
	until_true has_begun
	run timeout 20 "$lock" --status=pid -f kv
	is "it does, with the capabilities of the unit" "$status:$(cat err):$(value pinned_bytes)" "0::$((8 * page))"
	stop
	end_manager
	like "and the manager hears it" "$status:$(cat told)" "143:READY=1 *STOPPING=1"
else
	skip "it does, with the capabilities of the unit" "needs root"
fi

done_testing
