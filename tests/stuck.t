#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Output that nobody reads: a time limit and signals end every tool all the same, on a pipe that
# is full, and on a terminal that is full or stopped.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
stuck=$BUILD/tests/stuck

head -c 40960 /dev/zero >"$TMP/file"
printf 'HITS MISSES\n9 1\n' >"$TMP/samples"
mkdir "$TMP/many" && (cd "$TMP/many" && seq 3000 | xargs touch) || exit 1

# job TOOL: its command line, which would end by itself but for the output, or never
job() {
	case $1 in
	hitratio) echo "$BUILD/hitratio OPTIONS -f json 0.1" ;;
	resident) echo "$BUILD/resident OPTIONS $TMP/many" ;;
	warm) echo "$BUILD/warm OPTIONS -f kv $TMP/file" ;;
	lock) echo "$BUILD/lock OPTIONS -f kv $TMP/file" ;;
	ratio-check) echo "$BUILD/ratio-check OPTIONS -w 90 -" ;;
	esac
}

# stuck_run PLACE OPTIONS TOOL [SIGNAL]: runs it, for eight seconds at most, SIGNAL after one;
# sets $status, $err and $seconds
stuck_run() {
	line=$(job "$3" | sed "s/OPTIONS/$2/")
	start=$(date +%s)
	status=0
	# shellcheck disable=SC2086 # words
	timeout -s KILL 8 timeout --preserve-status -s "${4:-KILL}" "$([ "$4" ] && echo 1 || echo 7)" \
		"$stuck" "$1" $line <"$TMP/samples" >"$TMP/.out" 2>"$TMP/.err" || status=$?
	seconds=$(($(date +%s) - start))
	err=$(cat "$TMP/.err")
}

able=$BUILD/hitratio
tools="resident warm lock ratio-check"
if [ "$(id -u)" -eq 0 ] && "$able" 0.1 1 >/dev/null 2>&1; then
	tools="hitratio $tools"
else
	skip "hitratio" "it cannot count here"
fi

for tool in $tools; do
	stuck_run pipe '-t 0.5' "$tool"
	like "$tool: a time limit ends it: a pipe" "$status" '[23]' || note "$seconds s"
	like "$tool: it says why" "$err" "$tool: output: nobody reads *"
	stuck_run full '-t 0.5' "$tool"
	like "$tool: a time limit ends it: a full terminal" "$status" '[23]' || note "$seconds s"
	stuck_run stopped '' "$tool" TERM
	is "$tool: SIGTERM ends it: a stopped terminal" "$status" 143 || note "$seconds s"
	stuck_run pipe '' "$tool" TERM
	is "$tool: SIGTERM ends it: a pipe" "$status" 143 || note "$seconds s: $err"
	stuck_run pipe '' "$tool" INT
	is "$tool: SIGINT ends it" "$status" 130 || note "$seconds s: $err"
done

# a report in place of what is no regular file
mkfifo "$TMP/fifo"
sleep 30 <>"$TMP/fifo" &
holder=$!
on_exit "kill $holder"
perl -e 'use Fcntl; sysopen(my $f, $ARGV[0], O_WRONLY | O_NONBLOCK) or die;
	1 while syswrite($f, "x" x 4096)' "$TMP/fifo"
run timeout -s KILL 8 "$BUILD/resident" -t 0.5 -o "$TMP/fifo" "$TMP/file"
is "-o, a FIFO that nobody reads" "$status:$err" "2:resident: $TMP/fifo: nobody reads it"

# who reads slowly gets all
"$BUILD/resident" -f tsv "$TMP/many" >"$TMP/quick" 2>/dev/null
"$BUILD/resident" -f tsv "$TMP/many" 2>/dev/null | (sleep 1; cat) >"$TMP/slow"
ok "who reads late gets the same" cmp "$TMP/quick" "$TMP/slow"

done_testing
