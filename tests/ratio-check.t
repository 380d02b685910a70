#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ratio-check: verdicts on given samples, and every way in which hitratio can fail it.
. "$(dirname "$0")/lib.sh"

# a copy of its own, since a hitratio that lies beside it is what it runs
mkdir "$TMP/bin" || exit 1
cp "$BUILD/ratio-check" "$TMP/bin/" || exit 1
check=$TMP/bin/ratio-check
PATH=$TMP/bin:$PATH

# given HITS MISSES [HITS MISSES]...: samples for standard input, in $TMP/samples
given() {
	{
		echo 'HITS MISSES DIRTIES HITRATIO BUFFERS_MB CACHED_MB'
		while [ $# -gt 0 ]; do
			echo "$1 $2 0 0.00% 0 0"
			shift 2
		done
	} >"$TMP/samples"
}

# judge OPTION...: runs ratio-check on them
judge() {
	run "$check" "$@" - <"$TMP/samples"
}

# hitratio SCRIPT: the shell script that is hitratio from here on
hitratio() {
	{
		echo '#!/bin/sh'
		echo "$1"
	} >"$TMP/bin/hitratio.new"
	chmod 755 "$TMP/bin/hitratio.new"
	mv "$TMP/bin/hitratio.new" "$TMP/bin/hitratio"
}

# gone PID: within five seconds; init may take its time over what is dead
# shellcheck disable=SC2317 # called by ok
gone() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z*) return 0 ;; esac
		sleep 0.25
	done
	return 1
}

# appears FILE: within two seconds, with something in it
appears() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -s "$1" ] && return 0
		sleep 0.1
	done
	return 1
}

# what is not to end after the usual time, half a minute and the window, begins first
mkdir "$TMP/patient" && cp "$BUILD/ratio-check" "$TMP/patient/" || exit 1
cat >"$TMP/patient/hitratio" <<'END'
#!/bin/sh
sleep 31.5
printf 'hits\tmisses\n9\t1\n'
END
chmod 755 "$TMP/patient/hitratio"
"$TMP/patient/ratio-check" -t 0 -w 90 0.1 1 >"$TMP/never" &
never=$!

note "verdicts"

given 12345 341
judge -w 90 -c 80
is "OK: the line" "$out" "OK: page-cache hit ratio 97.31% (12345 hits, 341 misses) | \
ratio=97.31%;90:;80:;0;100 accesses=12686 misses=341"
is "OK: status" "$status" 0
is "OK: nothing on standard error" "$err" ""

given 713 287
judge -w 90 -c 70
like "WARNING: the line" "$out" "WARNING: page-cache hit ratio 71.30%, below 90% (*"
is "WARNING: status" "$status" 1
judge -w 95 -c 90
like "CRITICAL: the line names the worse limit" "$out" \
	"CRITICAL: page-cache hit ratio 71.30%, below 90% (*"
is "CRITICAL: status" "$status" 2
judge -c 90
like "-c alone" "$out" "CRITICAL: *| ratio=71.30%;;90:;0;100 *"
judge -w 90.5%
like "-w alone, as people write it" "$out" "WARNING: *, below 90.5% *| ratio=71.30%;90.5:;;0;100 *"

# a mean of the two ratios would be 55 %
given 1000000 0 1 9
judge -w 90
like "sums first, then divides" "$out" "OK: *(1000001 hits, 9 misses)*"

given 899999 100001
judge -w 90
is "just below: WARNING" "$status" 1
like "just below: the figure does not say otherwise" "$out" "*ratio 89.99%, below 90%*"
given 900000 100000
judge -w 90
is "at the limit: OK" "$status" 0
like "at the limit: the figure" "$out" "*ratio 90.00% *"

given 0 0 0 0
judge -w 90
is "no access: UNKNOWN" "$status" 3
is "no access: no ratio" "$out" \
	"UNKNOWN: no file reads in 2 samples | ratio=U;90:;;0;100 accesses=0 misses=0"

for text in 'nonsense' 'HITS MISSES
-1 5' 'HITS MISSES
99999999999999999999 1' 'HITS MISSES' '' 'hits=5'; do
	printf '%s\n' "$text" >"$TMP/samples"
	judge -w 90
	like "no samples: $(echo "$text" | head -n 1 | tail -c 20)" "$status $out" \
		"3 UNKNOWN: standard input: line *| ratio=U;90:;;0;100 accesses=U misses=U"
done
printf 'hits=2039\nmisses=15\n' >"$TMP/samples"
judge -w 99.5
like "a whole record" "$status $out" "1 WARNING: * 99.27%, below 99.5% *"
printf 'hits=2039\nmisses=1' >"$TMP/samples" # what is left of 15
judge -w 99.5
like "a record that was cut" "$status $out" \
	"3 UNKNOWN: standard input: line 2: the line has no end: it may have been cut |*"
printf 'hits\tmisses\n9\t10\n9\t1' >"$TMP/samples"
judge -w 50
like "a table that was cut" "$status $out" \
	"3 UNKNOWN: standard input: line 3: the line has no end: it may have been cut |*"
printf 'hits\tmisses\tlost\ttier\n9\t1\t4\texact\n' >"$TMP/samples"
judge -w 90
is "so much lost that nobody can tell" "$status $out" "3 UNKNOWN: the ratio may be \
50.00% to 90.00% (9 hits, 1 misses; estimate: 4 lost) | ratio=U;90:;;0;100 accesses=10 misses=1"
judge -w 50 -c 20
like "lost samples make it an estimate" "$status $out" \
	"0 OK: page-cache hit ratio 90.00% (9 hits, 1 misses; estimate: 4 lost) | ratio=90.00%;*"
judge -w 60 -c 50
is "it may be a warning: nobody can tell" "$status" 3
judge -w 95 -c 60
like "a warning at least, perhaps worse: WARNING" "$status $out" \
	"1 WARNING: page-cache hit ratio 90.00%, below 95% (9 hits, 1 misses; estimate: 4 lost) |*"
judge -w 95 -c 91
is "critical at best: CRITICAL" "$status" 2

note "options"

given 9 1
judge -q -w 90
is "-q: nothing where all is well" "$status $out$err" "0 "
judge -q -w 95
like "-q: else the line" "$status $out" "1 WARNING: *"
judge -q -w 90 -f json
is "-q: the same in other formats" "$status $out$err" "0 "
judge -q -w 90 -o "$TMP/report"
like "-q: a file is written all the same" "$status $(cat "$TMP/report")" "0 OK: *"
judge -w 90 -o "$TMP/missing/report"
is "a report that cannot be written is not CRITICAL" "$status" 3

judge -w 95 -f kv
is "kv" "$out" "status=WARNING
ratio=90.00
accesses=10
misses=1
threshold_warn=95.00
threshold_crit=
baseline=
message='page-cache hit ratio 90.00%, below 95% (9 hits, 1 misses)'
estimate=0"
judge -w 95 -f json
is "json" "$out" '{"status":"WARNING","ratio":90.00,"accesses":10,"misses":1,"threshold_warn":95.00,"threshold_crit":null,"baseline":null,"message":"page-cache hit ratio 90.00%, below 95% (9 hits, 1 misses)","estimate":0}'
judge -w 95 -f prom
is "prom" "$(echo "$out" | grep -v '^#')" "hotset_check_status 1
hotset_check_ratio 0.900000
hotset_check_accesses 10
hotset_check_misses 1
hotset_check_threshold_warn_ratio 0.950000
hotset_check_estimate 0"

# mistake NAME ARGUMENT...: is one of usage
mistake() {
	name=$1
	shift
	run "$check" "$@" </dev/null
	like "$name" "$status:$out:$err" "3::ratio-check: *"
}
mistake "no threshold" -
mistake "-c above -w" -w 80 -c 90 -
mistake "a range" -w 10:90 -
mistake "a range with @" -w @90 -
mistake "more than 100" -w 101 -
mistake "three decimals" -w 90.001 -
mistake "rubbish" -w 90x -
mistake "no interval" -w 90 0
mistake "rubbish for an interval" -w 90 1x
mistake "no count" -w 90 1 0
mistake "rubbish for a count" -w 90 1 five
mistake "an endless window" -w 90 99999999999 99999999999
mistake "too many operands" -w 90 1 5 9
mistake "an operand after -" -w 90 - 5

note "hitratio"

run "$check" -w 90
like "absent" "$status $out" "3 UNKNOWN: hitratio is neither beside ratio-check nor in PATH | ratio=U;*"

if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$check" -w 90
	like "without /proc: the cause" "$status $out" \
		"3 UNKNOWN: hitratio is not in PATH, and without /proc, which is not mounted here, *| ratio=U;*"
else
	skip "without /proc" "needs root and mount namespaces"
fi

# what the script says is its own business: the dollars stay as they are
# shellcheck disable=SC2016
hitratio 'echo "$@" >"${0%/*}/arguments"; printf "hits\tmisses\n9\t1\n9\t1\n9\t1\n9\t1\n9\t1\n"'
run "$check" -w 90
like "its samples" "$status $out" "0 OK: page-cache hit ratio 90.00% (45 hits, 5 misses) |*"
is "how it is run" "$(cat "$TMP/bin/arguments")" "-f tsv 1 5"
run "$check" -w 90 500ms 7
is "the window is passed on" "$(cat "$TMP/bin/arguments")" "-f tsv 500ms 7"
like "fewer samples than expected are named" "$status $out" "0 OK: *(45 hits, 5 misses; 5 of 7 samples)*"

hitratio 'printf "hits\tmisses\n0\t0\n"'
run "$check" -w 90 2 1
like "no reads" "$status $out" "3 UNKNOWN: no file reads in 2 s |*"

hitratio 'echo "hitratio: BPF: Operation not permitted: needs root | or CAP_BPF" >&2; exit 3'
run "$check" -w 90 -c 80
is "it fails: its reason" "$status $out" "3 UNKNOWN: hitratio: BPF: Operation not permitted: \
needs root / or CAP_BPF | ratio=U;90:;80:;0;100 accesses=U misses=U"
is "it fails: nothing on standard error" "$err" ""
run "$check" -v -w 90
like "-v shows what it says" "$err" "*hitratio: BPF: Operation not permitted*"

hitratio 'printf "hits\tmisses\n9\t1\n"; exit 1'
run "$check" -w 90
like "it fails without a reason" "$status $out" "3 UNKNOWN: hitratio: exit status 1 |*"

# done_in_part EVENTS SAMPLE: a hitratio that could not count so many
done_in_part() {
	hitratio "printf 'hits\tmisses\tlost\n$2\n'
		echo 'hitratio: $1 events were not counted: the kernel let one of a kind interrupt another' >&2
		exit 1"
}
done_in_part 1 '9999999\t1\t0'
run "$check" -w 90 1 1
is "done in part: the verdict, and the doubt" "$status $out" "0 OK: page-cache hit ratio 99.99% \
(9999999 hits, 1 misses; 1 events not counted) | ratio=99.99%;90:;;0;100 accesses=10000000 misses=1"
done_in_part 90 '950\t50\t0'
run "$check" -w 90 1 1
like "so many events that nobody can tell" "$status $out" "3 UNKNOWN: the ratio may be \
87.16% to 95.41% (950 hits, 50 misses; 90 events not counted) | ratio=U;*"
done_in_part 10 '798\t202\t0'
run "$check" -w 90 -c 80 1 1
like "nobody can tell how bad: WARNING is certain" "$status $out" "1 WARNING: *below 90% (*"
done_in_part 10 '0\t0\t0'
run "$check" -w 0 1 1
is "no read but those not counted" "$status" 3
done_in_part 99999999999999999999 '9\t1\t0'
run "$check" -w 0 1 1
like "more than can be" "$status $out" "3 UNKNOWN: more was not counted than can be |*"
hitratio 'printf "hits\tmisses\tlost\n99\t1\t2\n"; echo "hitratio: 2 pages could not be noted" >&2; exit 1'
run "$check" -w 90 1 1
like "pages lost in a run of its own" "$status $out" "0 OK: *(99 hits, 1 misses; estimate: 2 lost) |*"
hitratio 'printf "hits\tmisses\tlost\n99\t1\t0\n"; echo "hitratio: something else" >&2; exit 1'
run "$check" -w 90 1 1
like "done in part, and nobody knows how much" "$status $out" "3 UNKNOWN: hitratio: something else |*"
ok "hitratio has the words that are understood" \
	grep -q '%llu events were not counted' "$BUILD/hitratio"

hitratio 'printf "hits\tmisses\n9\t1"'
run "$check" -w 90 1 1
like "its output was cut" "$status $out" "3 UNKNOWN: hitratio: line 2: the line has no end*"

hitratio 'printf "hits\tmisses\n9\t1\nSegmentation fault\n"; sleep 60'
run timeout 10 "$check" -w 90
like "it prints garbage" "$status $out" "3 UNKNOWN: hitratio: line 3: * |*"

hitratio 'exec yes'
run timeout 10 "$check" -t 1 -w 90
like "it prints garbage without end" "$status $out" "3 UNKNOWN: no answer in 1 s |*"

# shellcheck disable=SC2016
hitratio 'printf "hits\tmisses\n9\t1\n"; kill -SEGV $$'
run "$check" -w 90
like "a signal ends it" "$status $out" "3 UNKNOWN: hitratio: killed by signal 11 |*"

echo 'no program' >"$TMP/bin/hitratio"
run "$check" -w 90
like "it cannot be run" "$status $out" "3 UNKNOWN: *hitratio: Exec format error |*"
chmod 644 "$TMP/bin/hitratio"
run "$check" -w 90
like "it may not be run" "$status $out" "3 UNKNOWN: hitratio is neither *"

hitratio 'printf "hits\tmisses\n9\t1\n"'
run env --ignore-signal=CHLD "$check" -w 90 1 1
like "with SIGCHLD ignored" "$status $out" "0 OK: *(9 hits, 1 misses) |*"

# shellcheck disable=SC2016
hitratio 'sleep 60 & echo $! >"${0%/*}/pid"; wait; echo never'
run timeout 10 "$check" -t 500ms -w 90
like "it hangs" "$status $out" "3 UNKNOWN: no answer in 0.5 s |*"
ok "it hangs: nothing that it started is left" gone "$(cat "$TMP/bin/pid")"

# shellcheck disable=SC2016
hitratio 'trap "" TERM; echo $$ >"${0%/*}/pid"; while :; do sleep 1; done'
run timeout 10 "$check" -t 500ms -w 90
like "it hangs on" "$status $out" "3 UNKNOWN: no answer in 0.5 s |*"
ok "it hangs on: no process is left" gone "$(cat "$TMP/bin/pid")"

# shellcheck disable=SC2016
hitratio 'exec >&- 2>&-; echo $$ >"${0%/*}/pid"; sleep 60'
run timeout 10 "$check" -t 500ms -w 90
like "it hangs in silence" "$status $out" "3 UNKNOWN: no answer in 0.5 s |*"

# start: ratio-check in the background, and its hitratio
start() {
	rm -f "$TMP/bin/pid"
	# shellcheck disable=SC2016
	hitratio 'echo $$ >"${0%/*}/pid"; exec sleep 60'
	"$check" -w 90 >"$TMP/line" &
	started=$!
	appears "$TMP/bin/pid"
}
start
kill -TERM "$started"
status=0
wait "$started" || status=$?
like "SIGTERM" "$status $(cat "$TMP/line")" "143 UNKNOWN: stopped by a signal |*"
ok "SIGTERM: no process is left" gone "$(cat "$TMP/bin/pid")"
start
kill -HUP "$started"
status=0
wait "$started" || status=$?
like "SIGHUP" "$status $(cat "$TMP/line")" "129 UNKNOWN: stopped by a signal |*"
ok "SIGHUP: no process is left" gone "$(cat "$TMP/bin/pid")"
start
kill -KILL "$started"
wait "$started" 2>/dev/null
ok "SIGKILL: no process is left" gone "$(cat "$TMP/bin/pid")"

status=0
out=$(sleep 2 | "$check" -t 200ms -w 90 -) || status=$?
like "-t also limits standard input" "$status $out" "3 UNKNOWN: no answer in 0.2 s |*"

given 9 1
status=0
"$check" -w 90 - <"$TMP/samples" >/dev/full 2>"$TMP/.err" || status=$?
like "a full disk is not CRITICAL" "$status $(cat "$TMP/.err")" "3 *: No space left on device"
status=0
"$check" -w 90 - <"$TMP/samples" >&- 2>"$TMP/.err" || status=$?
like "without standard output" "$status $(cat "$TMP/.err")" "3 *: Bad file descriptor"
status=0
out=$("$check" -w 90 - <&-) || status=$?
like "without standard input" "$status $out" "3 UNKNOWN: standard input: Bad file descriptor |*"

status=0
wait "$never" || status=$?
like "-t 0: never" "$status $(cat "$TMP/never")" "0 OK: *(9 hits, 1 misses) |*"

note "syslog"

# A /dev of its own for the tool alone, with a log that this test listens to.
mkdir "$TMP/dev" && : >"$TMP/dev/null" || exit 1

# logged OPTION...: runs ratio-check with it on the samples
logged() {
	# shellcheck disable=SC2016 # the inner shell's
	run unshare -m sh -c 'mount --bind /dev/null "$0/null" && mount --bind "$0" /dev &&
		exec "$@"' "$TMP/dev" "$check" --syslog "$@" - <"$TMP/samples"
}

# listen: the datagrams that arrive, one a line, in $TMP/log
listen() {
	perl -MSocket -e '
		$| = 1;
		socket(my $log, AF_UNIX, SOCK_DGRAM, 0) or die;
		bind($log, pack_sockaddr_un($ARGV[0])) or die;
		while (defined recv($log, my $text, 65536, 0)) { print "$text\n" }
	' "$TMP/dev/log" >"$TMP/log" &
	listener=$!
	on_exit "kill $listener 2>/dev/null"
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -S "$TMP/dev/log" ] && return
		sleep 0.1
	done
}

# arrives NAME PATTERN: what was logged last
arrives() {
	appears "$TMP/log"
	like "$1" "$(tail -n 1 "$TMP/log")" "$2"
	: >"$TMP/log"
}

if ! unshare -m true 2>/dev/null; then
	skip "syslog" "needs root and mount namespaces"
elif ! command -v perl >/dev/null; then
	skip "syslog" "needs perl"
else
	given 713 287
	logged -w 90
	like "no log: said so, and the verdict stays" "$status $out: $err" \
		"1 WARNING: *: ratio-check: /dev/log: No such file or directory*"
	listen
	logged -w 90
	is "a WARNING is logged in silence" "$status $err" "1 "
	arrives "WARNING" "<12>??? ?? ??:??:?? cachecheck: page-cache hit ratio 71.30% below threshold 90%"
	logged -w 90.50% -c 80:
	arrives "CRITICAL: the limit that it crossed" \
		"<10>* cachecheck: page-cache hit ratio 71.30% below threshold 80%"
	logged -q -w 90.50%
	arrives "the limit as people write it" "*: page-cache hit ratio 71.30% below threshold 90.5%"
	printf 'HITS MISSES\nx y\n' >"$TMP/samples"
	logged -w 90
	arrives "UNKNOWN" "<12>* cachecheck: page-cache hit ratio unknown: *line 2*"
	given 0 0
	logged -w 90
	is "a host at rest: status" "$status" 3
	sleep 0.2
	is "a host at rest is not logged" "$(cat "$TMP/log")" ""
	given 9 1
	logged -w 90
	is "OK: status" "$status" 0
	sleep 0.2
	is "OK is not logged" "$(cat "$TMP/log")" ""
	kill "$listener"
	wait "$listener" 2>/dev/null
	logged -w 95
	like "a log that nobody reads" "$status $err" "1 ratio-check: /dev/log: Connection refused*"
	rm "$TMP/dev/log"
	# a daemon that is stuck, its queue full
	perl -MSocket -e '
		socket(my $log, AF_UNIX, SOCK_DGRAM, 0) or die;
		bind($log, my $name = pack_sockaddr_un($ARGV[0])) or die;
		socket(my $full, AF_UNIX, SOCK_DGRAM, 0) or die;
		1 while defined send($full, "x", 0x40, $name); # MSG_DONTWAIT
		open(my $ready, ">", $ARGV[1]) or die;
		print $ready "ready\n";
		close $ready;
		sleep 60;
	' "$TMP/dev/log" "$TMP/ready" &
	listener=$!
	on_exit "kill $listener 2>/dev/null"
	appears "$TMP/ready"
	logged -w 95
	like "a log that is stuck" "$status $err" "1 ratio-check: /dev/log: * timed out*"
	kill "$listener"
	rm "$TMP/dev/log"

	# as syslog-ng has it, and others: each message ends with NUL
	: >"$TMP/log"
	perl -MSocket -e '
		$| = 1;
		$/ = "\0";
		socket(my $log, AF_UNIX, SOCK_STREAM, 0) or die;
		bind($log, pack_sockaddr_un($ARGV[0])) or die;
		listen($log, 8) or die;
		while (accept(my $from, $log)) {
			while (defined(my $text = readline($from))) {
				print chomp($text) ? "$text\n" : "cut: $text\n";
			}
		}
	' "$TMP/dev/log" >"$TMP/log" &
	listener=$!
	on_exit "kill $listener 2>/dev/null"
	until_true test -S "$TMP/dev/log"
	given 713 287
	logged -w 90
	is "a log that is a stream" "$status $err" "1 "
	arrives "it has the message, whole" \
		"<12>??? ?? ??:??:?? cachecheck: page-cache hit ratio 71.30% below threshold 90%"
	kill "$listener"
	wait "$listener" 2>/dev/null
	rm "$TMP/dev/log"

	# which nobody accepts
	perl -MSocket -e '
		socket(my $log, AF_UNIX, SOCK_STREAM, 0) or die;
		bind($log, my $name = pack_sockaddr_un($ARGV[0])) or die;
		listen($log, 0) or die;
		socket(my $first, AF_UNIX, SOCK_STREAM, 0) or die;
		connect($first, $name) or die;
		open(my $ready, ">", $ARGV[1]) or die;
		print $ready "ready\n";
		close $ready;
		sleep 60;
	' "$TMP/dev/log" "$TMP/ready2" &
	listener=$!
	on_exit "kill $listener 2>/dev/null"
	appears "$TMP/ready2"
	logged -w 95
	like "a stream that is stuck" "$status $err" "1 ratio-check: /dev/log: * timed out*"
	kill "$listener"
fi

done_testing
