#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio -f prom: runs for the machine, a process and a command side by side in one folder of
# node_exporter's textfile collector, which refuses what comes twice. By an estimate where
# nothing can be counted.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio
sleep 100 &
one=$!
sleep 100 &
other=$!
on_exit "kill $one $other"

# write NAME ARGUMENT...: a report of that name
write() {
	name=$1
	shift
	"$hitratio" -q --estimate -f prom -o "$TMP/$name.prom" "$@" >/dev/null
}

if ! write machine 0.2 1; then
	skip_all "the machine cannot be looked at here"
fi
write one -p $one 0.2 1
write other -p $other 0.2 1
write command -- cat /dev/null
cp "$(command -v cat)" "$TMP/a\"b"
write hostile -- "$TMP/a\"b" /dev/null

is "all have a report" "$(find "$TMP" -name '*.prom' | wc -l)" 5
is "no series is there twice" "$(grep -hv '^#' "$TMP"/*.prom | sed 's/ [^ ]*$//' | sort | uniq -d)" ""
ok "the machine has no label of a target" test -z "$(grep -E 'pid=|command=' "$TMP/machine.prom")"
ok "a process has its number" grep -q "^hotset_hitratio_interval_seconds{tier=\"[a-z]*\",pid=\"$one\"} " "$TMP/one.prom"
ok "a command has its name" grep -q '^hotset_hitratio_interval_seconds{tier="[a-z]*",command="cat"} ' "$TMP/command.prom"
ok "a command with a quote, too" grep -q 'command="a\\"b"' "$TMP/hostile.prom"
if command -v promtool >/dev/null; then
	# as the collector does: all files together, each metric's lines in one place
	sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$TMP"/*.prom | sort -u | while read -r metric; do
		grep -h "^# [A-Z]* $metric " "$TMP"/*.prom | sort -u
		grep -h "^$metric{" "$TMP"/*.prom
	done >"$TMP/together"
	run promtool check metrics <"$TMP/together"
	ok "promtool parses them together" test "$err" = "${err#*error while linting}"
else
	skip "promtool parses them together" "needs promtool"
fi

done_testing
