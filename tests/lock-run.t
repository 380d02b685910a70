#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # ok, run and until_true call functions
# lock as a service: in the background, by its pid file, under a service manager
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need setpriv unshare flock timeout perl

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

# in_file TEXT FILE [COUNT]: whether a line of it holds that, so many times
in_file() {
	[ "$(grep -c -- "$1" "$2")" -ge "${3:-1}" ]
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
	begun "$*"
}

# begun NAME: the first report is there, in $reported or out
begun() {
	until_true in_file '^state=' "${reported:-out}" || ok "it begins: $1" false
}

# stop [SIGNAL]: sets $status
stop() {
	kill -"${1:-TERM}" "$pid"
	ended
}

# ended: waits for $pid to end; sets $status
ended() {
	until_true is_gone "$pid" || kill -KILL "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
}

# end PIDFILE: of one that is detached
end() {
	pid=$(cat "$1")
	kill "$pid"
	until_true is_gone "$pid" || ok "it ends" false
}

# is_gone PID: a child of ours that has ended is there until it is waited for
is_gone() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | [ZX]*) ;;
	*) false ;;
	esac
}

absent() {
	for name; do
		[ ! -e "$name" ] || return 1
	done
}

# asked_now FIELD: of the first record that --status=pid shows
asked_now() {
	timeout 20 "$lock" --status=pid -f kv | sed -n "s/^$1=//p" | head -n 1
}

# has_now FIELD VALUE
has_now() {
	[ "$(asked_now "$1")" = "$2" ]
}

# with_sigint COMMAND...: which a shell has ignored for what it starts in the background
with_sigint() {
	# shellcheck disable=SC2016 # perl's
	exec perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$@"
}

# fill: the pipe that standard output is, to the last byte
fill() {
	perl -e 'use Fcntl;
		fcntl(STDOUT, F_SETFL, O_NONBLOCK);
		for my $size (4096, 1) { 1 while syswrite(STDOUT, "x" x $size) }'
}

# drain: what the pipe holds that standard input is
drain() {
	perl -e 'use Fcntl;
		fcntl(STDIN, F_SETFL, O_NONBLOCK);
		1 while sysread(STDIN, $x, 4096);
		fcntl(STDIN, F_SETFL, 0)'
}

human() {
	awk -v bytes="$1" 'BEGIN {
		for (unit = 1; bytes >= 999.5; unit++)
			bytes /= 1024
		printf(unit > 1 && bytes < 9.95 ? "%.1f%s" : "%.0f%s", bytes, substr("BKMG", unit, 1)) }'
}
h60=$(human $((60 * page)))
h50=$(human $((50 * page)))
h20=$(human $((20 * page)))
h80=$(human $((80 * page)))

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
ok "the pid file is gone, and the socket" absent "$TMP/pid" "$TMP/pid.sock"

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
is "what is pinned in part is told so" "$status:$(value state) $(value pinned_bytes):$(value state 2) $(value pinned_bytes 2)" \
	"1:partial :pinned $asked"
end pid
run timeout 20 "$lock" --detach --for=0.3 --pidfile=pid -o report -f kv a
ok "--for ends it by itself" until_true test ! -e pid
is "the last report is in the file" "$(grep ^state= report)" state=released
# shellcheck disable=SC2016 # the inner shell's
sh -c 'flock 9; exec timeout 20 "$0" --detach --pidfile=pid a 2>&1' "$lock" 9>held | cat >/dev/null
ok "nothing of the caller's stays open" flock -n held true
open_files=$(for fd in "/proc/$(cat pid)/fd"/*; do readlink "$fd"; done)
like "it has files open, of which we know" "$open_files" "*/dev/null*"
is "the caller's pipe is not one" "$(printf '%s\n' "$open_files" | grep -c '^pipe:')" 0
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
	is "there are some" "$(echo "$workers" | wc -w)" 2
	kill -KILL "$(cat pid)"
	all_gone() {
		for worker in $workers; do
			is_gone "$worker" || return 1
		done
	}
	ok "which end with it, when it is killed" until_true all_gone
	run timeout 20 "$lock" --pidfile=pid --for=0.1 a
	is "and then the pid file is free" "$status:$err" "0:"
else
	skip "nor of its workers'" "needs root"
fi
mkfifo names
for signal in KILL TERM INT; do
	with_sigint "$lock" --detach --pidfile=pid -T names >/dev/null 2>&1 &
	caller=$!
	until_true in_file . pid
	pid=$(cat pid)
	pids="$pids $pid"
	kill -$signal $caller
	wait $caller 2>/dev/null
	ok "a caller that did not wait, by SIG$signal, is obeyed: nothing is held" until_true is_gone "$pid"
	ok "and nothing left" until_true absent pid pid.sock
done

### The pid file

start --pidfile=pid a
is "it holds the process id" "$(cat pid)" "$pid"
inode=$(stat -c %i pid)
run timeout 20 "$lock" --pidfile=pid b
like "no second one starts with it" "$status:$err" "2:lock: pid: process $pid runs with this pid file: *kill $pid*"
is "nobody else may read it, which is enough to lock it" "$(stat -c %a pid)" 600
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
like "a file that is something else is left alone" "$status:$err:$(cat pid)" \
	"2:lock: pid: something else is there, not a pid file*:precious"
rm pid
sleep 1000 &
other=$!
echo $other >pid
run timeout 20 "$lock" --pidfile=pid a
like "another program's, that runs and does not lock it, too" "$status:$err:$(cat pid)" \
	"2:lock: pid: process $other*another program's*:$other"
touch -d '2001-01-01' pid
start --pidfile=pid a
is "but not one whose number is another's by now" "$(cat pid)" "$pid"
stop
kill $other
wait $other 2>/dev/null
echo 1 >other
ln other pid
run timeout 20 "$lock" --pidfile=pid a
like "a file with a second name is no pid file" "$status:$err:$(cat other)" "2:lock: pid: something else*:1"
rm pid other
if [ "$(id -u)" -eq 0 ]; then
	value=$(cat /proc/sys/kernel/randomize_va_space)
	run timeout 20 "$lock" --pidfile=/proc/sys/kernel/randomize_va_space a
	like "nor is what the kernel makes up" "$status:$err:$(cat /proc/sys/kernel/randomize_va_space)" "2:lock: *:$value"
	: >pid
	chown 65534 pid
	run timeout 20 "$lock" --pidfile=pid a
	like "nor another user's" "$status:$err:$(stat -c %s pid)" "2:lock: pid: something else*:0"
	rm -f pid
else
	skip "nor is what the kernel makes up" "needs root"
	skip "nor another user's" "needs root"
fi
start --pidfile=pid a
first=$pid
rm pid
start --pidfile=pid b
kill "$first"
until_true is_gone "$first"
is "who was first leaves the next one's alone" "$(cat pid):$(asked_now state)" "$pid:pinned"
stop
exec 8>pid
flock 8
timeout -s TERM 0.5 "$lock" --pidfile=pid a 2>err
is "a stop while it waits for the file is one" "$?:$(cat err)" "124:lock: pid: stopped while another process has it locked"
exec 8>&-
rm -f pid
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
like "--status for people" "$status:$err:$out" "0::*FILES*$h60*$h20*$h80*total"
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
perl -MSocket -e '
	$| = 1;
	socket(my $fd, AF_UNIX, SOCK_SEQPACKET, 0) or die;
	connect($fd, pack_sockaddr_un("pid.sock")) or die;
	print "connected\n";
	sleep 1000' >silent &
silent=$!
pids="$pids $silent"
ok "somebody connects" until_true in_file connected silent
run timeout 20 "$lock" --status=pid -f kv
is "who connects and says nothing does not keep others waiting" "$status" 0
kill $silent
wait $silent 2>/dev/null
kill -USR1 "$pid"
ok "SIGUSR1 prints the rows" until_true in_file '^state=pinned' out 4
stop
is "none is told after the end" "$status:$(ls pid* 2>/dev/null)" "143:"
start --pidfile=pid a
truncate -s $((10 * page)) a
ok "what has changed is told" until_true has_now asked_bytes $((10 * page))
stop
file a 60
start --pidfile=pid a
# somebody else sits where the process is asked, and would show whatever they like
mv pid.sock aside
perl -MSocket -e '
	$| = 1;
	socket(my $fd, AF_UNIX, SOCK_SEQPACKET, 0) or die;
	bind($fd, pack_sockaddr_un("pid.sock")) && listen($fd, 9) or die;
	print "listening\n";
	sleep 1000' >other &
other=$!
pids="$pids $other"
ok "somebody listens" until_true in_file listening other
run timeout 20 "$lock" --status=pid -f kv
like "is not believed" "$status:$out:$err" "3::lock: pid.sock: it is not process $pid*"
stop
ok "and what is not ours is left there" [ -S pid.sock ]
kill $other
wait $other 2>/dev/null
rm -f pid.sock aside
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

for wrong in "--status=pid a" "--status=pid -- true" "--status=pid --detach" "--status=pid --max=1" \
	"--status=pid --quiet-time=1" \
	"--status=pid --for=1" "--status=pid --syslog" "--status=pid --pidfile=x" "--for=0 a" "--detach a -- true" "--for=1 a -- true" \
	"--dry-run --detach a" "--for=x a"; do
	# shellcheck disable=SC2086 # words
	run timeout 20 "$lock" $wrong
	like "mistake: $wrong" "$status:$out:$err" "3::lock: *"
done
run timeout 20 "$lock" --for=0.2 -f kv a
is "--for in the foreground" "$status:$(value state 2)" "0:released"
start --for=213503.98d a
sleep 0.3
ok "a time beyond all clocks is not over at once" kill -0 "$pid"
stop
run timeout 20 "$lock" --for=0.2 -f kv missing a
is "with --for, too, a part is one" "$status:$(value state):$(value pinned_bytes 2)" "1:partial:$asked"
is "of what cannot be read nothing is known" "$(value files):$(value asked_bytes):$(value path)" "::missing"

### The service manager

# manager ADDRESS [OPTION...]: listens there; sets $manager
manager() {
	address=$1
	shift
	: >told
	"$listen" "$@" "$address" >told 2>&1 &
	manager=$!
	pids="$pids $manager"
	# as the kernel lists it, an abstract name too
	until_true grep -qF " $address" /proc/net/unix || ok "a manager listens" false
}

# end_manager ['']: once it has heard STOPPING=1, or at once
end_manager() {
	[ -z "${1-x}" ] || until_true in_file STOPPING=1 told
	kill $manager
	wait $manager 2>/dev/null
	rm -f socket
}

for name in "$TMP/w/socket" "@hotset-test-$$"; do
	manager "$name"
	NOTIFY_SOCKET=$name WATCHDOG_USEC=400000 start a
	until_true in_file WATCHDOG=1 told 3
	stop
	end_manager
	is "$(echo "$name" | cut -c 1): READY, with how much is pinned" "$(grep READY told)" \
		"READY=1 MAINPID=$pid STATUS=$h60 of $h60 pinned"
	ok "signs of life" in_file '^WATCHDOG=1$' told 3
	is "STOPPING" "$(tail -n 1 told)" STOPPING=1
done
manager "$TMP/w/socket" -s
NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=400000 start a
ok "signs of life go on" until_true in_file WATCHDOG=1 told 11
stop
end_manager
took=$(awk '/WATCHDOG/ { if (!n++) first = $1; if (n == 11) print int(1000 * ($1 - first)) }' told)
ok "two in each interval, not more: ten took $took ms" [ "$took" -ge 1900 ]
manager "$TMP/w/socket"
NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=400000 WATCHDOG_PID=1 start a
until_true in_file READY=1 told
sleep 0.5
stop
end_manager
is "none where another process is to give them" "$(grep -c READY=1 told) $(grep -c WATCHDOG=1 told)" "1 0"
manager "$TMP/w/socket"
NOTIFY_SOCKET=$TMP/w/socket run "$lock" --max 1 a
end_manager ''
is "what is refused is never ready" "$status:$(grep -c READY told)" "2:0"
for deaf in 1 3; do
	manager "$TMP/w/socket" -d $deaf
	until_true in_file full told
	NOTIFY_SOCKET=$TMP/w/socket start a
	ok "a manager that is busy for $deaf s hears READY" until_true in_file READY=1 told
	stop
	end_manager ''
done
run env NOTIFY_SOCKET="$TMP/w/nobody" "$lock" --for 0.2 a
like "a manager that is not there is said" "$status:$err" "0:lock: *NOTIFY_SOCKET*No such file*"
run env NOTIFY_SOCKET=vsock:2:1234 "$lock" --for 0.2 a
like "an address of another kind is said, and no reason to end" "$status:$err" '0:lock: NOTIFY_SOCKET is "vsock:2:1234"*'
# shellcheck disable=SC2016 # the inner shell's
run env NOTIFY_SOCKET=@nobody WATCHDOG_USEC=1000000 "$lock" a -- sh -c 'echo "$NOTIFY_SOCKET$WATCHDOG_USEC"'
is "a command cannot speak for us" "$status:$out" "0:"

# on a disk that is slow, by a cgroup of version 1
slow=/sys/fs/cgroup/blkio/hotset-test.$$
if mkdir $slow 2>/dev/null &&
	echo "$(stat -c %Hd:%Ld .) 4194304" 2>/dev/null >$slow/blkio.throttle.read_bps_device; then
	on_exit "rmdir $slow 2>/dev/null"
	# shellcheck disable=SC2016 # the inner shell's
	slowly() { exec sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $slow "$@"; }
	file big 5120
	manager "$TMP/w/socket" -s
	: >out
	NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=1000000 slowly "$lock" -f kv --pidfile=pid a big >out 2>err &
	pid=$!
	pids="$pids $pid"
	ok "while files are brought in the manager is told that it takes longer" until_true in_file EXTEND_TIMEOUT_USEC told
	until_true test -S pid.sock
	run timeout 20 "$lock" --status=pid -f kv
	is "who asks then gets an answer: not all is pinned" "$status:$err:$(value state)" "1::"
	is "it was asked in time" "$(grep -c READY told)" 0
	begun "from a slow disk"
	file other 5120
	mv other big
	big_is_pinned_again() {
		run timeout 20 "$lock" --status=pid -f kv
		[ "$(value repinned_bytes 2):$(value state 2)" = "$((5120 * page)):pinned" ]
	}
	ok "a file that is replaced is read, and slowly" until_true big_is_pinned_again
	stop
	end_manager
	gap=$(awk '/WATCHDOG/ { if (last && $1 - last > most) most = $1 - last; last = $1 } END { print int(1000 * most) }' told)
	ok "signs of life go on meanwhile, $gap ms apart at most" [ "$gap" -lt 1000 ]
	rm -f big
	until_true rmdir $slow
else
	skip "a slow disk" "needs root and a blkio controller of version 1"
fi

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
like "the manager knows when it begins and ends" "$(cat told)" "*READY=1 *
RELOADING=1 MONOTONIC_USEC=[0-9]*
*READY=1 MAINPID=$pid STATUS=$h50 of $h50 pinned*
STOPPING=1"
# refused WHAT: waits until the reload before is; what was pinned stays
refused() {
	ok "$1: it is said why" until_true in_file "reload refused\|No such file" err "$2"
	is "$1: what was pinned stays" "$(left a) $(asked_now pinned_bytes)" "60/60 $asked"
}
echo a >list
NOTIFY_SOCKET=@nobody start -T list --pidfile=pid --max "$asked"
printf '%s\n' a b >list
kill -HUP "$pid"
refused "what is too much is refused" 1
echo missing >list
kill -HUP "$pid"
refused "what cannot be read" 3 # it is named, too
rm list
kill -HUP "$pid"
refused "a list that is gone" 4
echo b >list
kill -HUP "$pid"
ok "it listens on" until_true has_now pinned_bytes $((20 * page))
stop
echo a >list
run timeout 20 "$lock" --detach --pidfile=pid -T /dev/stdin <list
kill -HUP "$(cat pid)"
sleep 0.5
ok "a list that was standard input is there for a reload" has_now pinned_bytes "$asked"
end pid
start a
stop HUP
is "elsewhere, SIGHUP ends it" "$status" 129

### The system log

if unshare -m true 2>/dev/null; then
	mkdir log
	echo a >list
	# a log of our own in the place of the machine's, and lock there, which is reloaded twice
	# shellcheck disable=SC2016 # the inner shell's
	with_log='
		rm -f out err
		mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9
		await() { i=0; until "$@" || [ $((i += 1)) -gt 400 ]; do sleep 0.05; done; }
		said() { [ "$(grep -c "reload" err)" -ge "$1" ]; }
		if [ "$2" ]; then "$2" /dev/log >logged & listener=$!; await test -S /dev/log; fi
		NOTIFY_SOCKET=@nobody "$1" --syslog -f kv -T list >out 2>err & pid=$!
		await grep -q ^state= out
		await grep -q NOTIFY_SOCKET err # told once it reads signals
		kill -HUP $pid; await said 1
		echo missing >list; kill -HUP $pid; await said 2
		kill $pid; wait $pid; status=$?
		[ ! "$2" ] || { sleep 0.3; kill $listener; }
		exit $status'
	run timeout 100 unshare -m sh -c "$with_log" sh "$lock" "$listen"
	like "--syslog: an event goes to the system log, with who says it" "$status:$(cat logged)" \
		"143:*<13>* lock?[0-9]*?: reloaded: $h60 of $h60 pinned*"
	like "so does what is wrong with a file, and why a reload is refused" "$(cat logged)" \
		"*<11>* lock?[0-9]*: missing: No such file*<11>* lock?[0-9]*: reload refused: *"
	echo a >list
	run timeout 100 unshare -m sh -c "$with_log" sh "$lock" ""
	like "a log that is not there is said, and does not end it" "$status:$(cat err)" \
		"143:*lock: the system log (/dev/log) does not take messages: No such file or directory*"
else
	skip "--syslog" "needs root"
fi

### With a command

run timeout 20 "$lock" missing a -- true
is "a command's status is its own, also where not all is pinned" "$status" 0
run timeout 20 "$lock" missing a -- sh -c 'exit 7'
is "whatever it is" "$status" 7
run timeout 20 "$lock" -o gone/report a -- true
like "but a report that cannot be written keeps it from starting" "$status:$err" "2:lock: *No such file*"
cat >obeys <<'END'
trap 'echo HUP; again=1' HUP
trap 'echo TERM; exit 9' TERM
echo begun
while :; do sleep 0.05; done
END
: >said
"$lock" --pidfile=pid a -- sh obeys >said 2>err &
pid=$!
pids="$pids $pid"
until_true in_file begun said
kill -HUP "$pid"
ok "a signal is passed on to the command" until_true in_file HUP said
is "after which it goes on, and is asked" "$(asked_now state)" pinned
truncate -s $((30 * page)) a
ok "and tends what it holds" until_true has_now asked_bytes $((30 * page))
kill -TERM "$pid"
ended
is "the next one, too, and the command's status is ours" "$status:$(tail -n 1 said)" 9:TERM
file a 60
# a terminal sends it to the command itself
cat >counts <<'END'
$| = 1;
$SIG{INT} = sub { print "INT\n" };
print "begun\n";
select undef, undef, undef, 0.05 while 1;
END
: >said
if command -v script >/dev/null; then
	mkfifo keys
	with_sigint script -qec "$lock --pidfile=pid a -- perl counts >said 2>err" /dev/null <keys >/dev/null 2>&1 &
	terminal=$!
	pids="$pids $terminal"
	exec 6>keys
	until_true in_file begun said
	printf '\003' >&6
	ok "Ctrl-C reaches the command" until_true in_file INT said
	sleep 0.5
	is "once" "$(grep -c INT said)" 1
	pid=$(cat pid)
	pids="$pids $pid"
	kill "$pid"
	exec 6>&-
	until_true is_gone "$terminal" || kill -KILL "$terminal" "$pid"
	wait $terminal 2>/dev/null
else
	skip "Ctrl-C reaches the command" "needs script"
	skip "once" "needs script"
fi
: >said
"$lock" --pidfile=pid a -- sh obeys 2>&1 >said | head -n 1 >first &
until_true in_file begun said
until_true in_file . first
pid=$(cat pid)
truncate -s $((30 * page)) a
until_true has_now asked_bytes $((30 * page))
kill -USR1 "$pid"
sleep 0.3
ok "who reads the reports may go: the command goes on" kill -0 "$pid"
kill "$pid"
ok "and ends when it is told to" until_true in_file TERM said
until_true is_gone "$pid" || kill -KILL "$pid"
file a 60
"$lock" -T names a -- touch begun >/dev/null 2>err &
pid=$!
pids="$pids $pid"
is_catching() { # and is the shell's copy no more
	grep -q '^Name:.lock' "/proc/$pid/status" && grep -q '^SigBlk:.*[1-9a-f]' "/proc/$pid/status"
}
until_true is_catching
kill "$pid"
ended
is "a stop before the command has begun is for us" "$status:$(ls begun 2>/dev/null)" "143:"

### What cannot be written

mkdir -p small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	# shellcheck disable=SC2016 # for then
	on_exit 'umount "$TMP/w/small" 2>/dev/null'
	reported=small/report
	NOTIFY_SOCKET=@nobody start --pidfile=pid -o small/report a
	reported=
	dd if=/dev/zero of=small/fill bs=1k count=100 2>/dev/null
	kill -USR1 "$pid"
	ok "a report on a full disk is said" until_true in_file "small/report: No space left" err
	is "and does not end it" "$(asked_now state)" pinned
	kill -HUP "$pid"
	ok "nor does one after a reload" until_true in_file "small/report: No space left" err 2
	is "after which all is pinned" "$(asked_now state)" pinned
	rm small/fill small/report
	kill -USR1 "$pid"
	ok "the next one is written again" until_true in_file state=pinned small/report
	stop
	umount small
else
	skip "a report on a full disk" "needs root"
fi
mkfifo stuck
exec 7<>stuck
: >out
"$lock" -f kv --pidfile=pid a >out 2>stuck &
pid=$!
pids="$pids $pid"
begun "with a pipe that is full"
# full to the last page, and nobody reads it
fill >stuck
truncate -s $((30 * page)) a
ok "standard error that takes nothing keeps it from nothing" until_true has_now asked_bytes $((30 * page))
truncate -s $((20 * page)) a
ok "not from what comes next either" until_true has_now asked_bytes $((20 * page))
drain <&7
truncate -s $((10 * page)) a
until_true has_now asked_bytes $((10 * page))
said=$(timeout 5 head -n 1 <&7)
like "how much was left out is told then" "$said" "lock: [0-9]* messages were left out"
stop
exec 7<&-
file a 60

### As much as is allowed

start --max="$asked" a
first=$pid
run timeout 20 "$lock" --max="$asked" --for=0.2 -f kv a
is "--max=SIZE is of each lock" "$status:$(value limit_bytes):$(value pinned_bytes)" "0:$asked:$asked"
pid=$first
stop

### An end that hangs: here, the last report goes to a pipe that is full

mkfifo full
exec 7<>full
"$lock" -f kv a >&7 2>err &
pid=$!
pids="$pids $pid"
memory_locked() {
	[ "$(awk '/^VmLck/ { print $2 * 1024 }' "/proc/$pid/status")" -eq "$1" ]
}
ok "the first report fits" until_true memory_locked "$asked"
until_true grep -q ^State:.S "/proc/$pid/status"
fill >full
kill "$pid"
ok "all is let go meanwhile" until_true memory_locked 0
ended
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
		sed "s,/run/hotset-lock/,,")
	manager "$TMP/w/socket"
	: >out
	# shellcheck disable=SC2086 # words
	NOTIFY_SOCKET=$TMP/w/socket WATCHDOG_USEC=1000000 setpriv --no-new-privs --inh-caps=-all \
		--bounding-set="-all,$caps" "$lock" -f kv $words --files-from=list >out 2>err &
	pid=$!
	pids="$pids $pid"
	begun "with the capabilities of the unit"
	run timeout 20 "$lock" --status=pid -f kv
	is "it does, with the capabilities of the unit" "$status:$(cat err):$(value pinned_bytes)" "0::$((8 * page))"
	stop
	end_manager
	like "and the manager hears it" "$status:$(cat told)" "143:*READY=1 *STOPPING=1"
else
	skip "it does, with the capabilities of the unit" "needs root"
fi

done_testing
