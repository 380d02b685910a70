#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016 # $1 is the inner shell's
# What hitratio estimates where it cannot count: near the truth where its manual says so,
# marked as an estimate everywhere, and never given unasked.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio
pages=4096 # of the file, 16 MiB
# cat's own start, and what the file system reads to find the file
slack=256

[ -r /proc/self/io ] || skip_all "this kernel has no /proc/PID/io"
dd if=/dev/urandom of="$TMP/file" bs=4096 count=$pages 2>/dev/null
sync "$TMP/file"
cp "$hitratio" "$TMP/hitratio" # where anybody may run it
around= # a command to run hitratio by
mkdir "$TMP/anybody" && chmod 777 "$TMP/anybody" || exit 1
report=$TMP/anybody/report

# estimate OPTION... -- COMMAND...: sets $accesses, $hits, $misses, $ratio; "" where unknown
estimate() {
	rm -f "$report"
	# shellcheck disable=SC2086 # words are meant
	run $around "$TMP/hitratio" --tier=proc -f kv -o "$report" "$@"
	accesses=$(figure accesses) hits=$(figure hits) misses=$(figure misses)
	ratio=$(figure ratio)
}
figure() {
	sed -n "s/^$1_est=//p" "$report"
}

# near NAME FIGURE TRUTH: no less, and no more than what comes with it
near() {
	[ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le $(($3 + slack)) ]
	verdict $? "$1" || note "got: ${2:-unknown}, wanted: $3 to $(($3 + slack))"
}

note "a command"

"$BUILD/tests/pages" --evict "$TMP/file"
estimate -- cat "$TMP/file"
near "cold: accesses" "$accesses" $pages
near "cold: misses" "$misses" $pages
[ "$(figure dirties)" ] && [ "$(figure fault_misses)" ]
verdict $? "what else can be estimated"
estimate -- cat "$TMP/file"
near "warm: accesses" "$accesses" $pages
near "warm: misses" "$misses" 0
is "hits are what is not a miss" "${hits:-none}" $((accesses - misses))
like "the ratio is theirs" "$ratio" "$(awk "BEGIN { printf \"%.2f\", 100 * $hits / $accesses }")"
"$BUILD/tests/pages" --evict "$TMP/file"
"$BUILD/tests/pages" --warm "$TMP/file" 0 $((pages * 2048))
estimate -- cat "$TMP/file"
near "half: misses" "$misses" $((pages / 2))

# what its children did is what they have left to it
estimate -- sh -c 'cat "$1"; cat "$1" & wait; (cat "$1")' sh "$TMP/file"
near "children: accesses" "$accesses" $((3 * pages))
estimate 0.1 -- sh -c 'cat "$1"; sleep 0.5; cat "$1"' sh "$TMP/file"
near "children, in intervals" \
	"$(sed -n 's/^accesses_est=//p' "$report")" $pages
estimate -- sh -c 'exit 7'
is "its status is passed on" "$status" 7
estimate -- sh -c 'kill -9 $$'
is "killed: 128 + signal" "$status" 137
estimate -t 0.3 -- sleep 60
is "--timeout: exit 3" "$status" 3

# mapped files are read from storage by no read call
"$BUILD/tests/pages" --evict "$TMP/file"
estimate -- perl -e 'open F, "<:mmap", shift or exit 9; $/ = \1000000; 1 while <F>' "$TMP/file"
if [ "$status" -eq 0 ]; then
	near "mapped: misses" "$misses" $pages
	is "more misses than accesses: hits are unknown, never negative or 0" "$hits$ratio" ""
else
	skip "mapped" "needs perl with its mmap layer"
fi

note "a process"

sleep 60 &
sleeper=$!
sleep 1 # until it is no shell any more
run "$hitratio" --tier=proc -p $sleeper -f tsv 0.1 2
is "one that does nothing" "$(printf '%s\n' "$out" | awk -F '\t' '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ print $column["accesses_est"] ":" $column["hits_est"] ":" $column["misses_est"] ":" $column["ratio_est"] }')" \
	"0:0:0:
0:0:0:"
kill $sleeper
run "$hitratio" --tier=proc -p 4194303
is "no such process: exit 3" "$status" 3
like "no such process: named" "$err" "*4194303*No such process*"

note "marks"

exact="accesses hits misses ratio faults fault_misses mapped stalls fills waste pending lost dirties"
run "$hitratio" --tier=proc -f text -- cat "$TMP/file"
row=$(printf '%s\n' "$err" | tail -n 1)
for figure in 1 2 3 4; do
	like "text: figure $figure" "$(echo "$row" | awk "{ print \$$figure }")" "[0-9]*est"
done
estimate -- cat "$TMP/file"
for name in $exact; do
	is "kv: $name is unknown" "$(sed -n "s/^$name=/=/p" "$report")" "="
done
is "kv: the tier" "$(sed -n 's/^tier=//p' "$report")" proc
run "$hitratio" --tier=proc -f json -- cat "$TMP/file"
for name in $exact; do
	like "json: $name is unknown" "$err" "*\"$name\":null,*"
done
like "json: the estimate" "$err" "*\"hits_est\":[0-9]*"
run "$hitratio" --tier=proc -f tsv -o "$report" -- cat "$TMP/file"
is "tsv: nothing is known but by another name" "$(awk -F '\t' -v names="$exact" '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ n = split(names, name, " "); for (i = 1; i <= n; i++) printf "%s", $column[name[i]]
	  print ":" ($column["hits_est"] > 0) }' "$report")" ":1"
run "$hitratio" --tier=proc -f prom -o "$report" -- cat "$TMP/file"
is "prom: no figure without its mark" \
	"$(grep '^hotset_hitratio' "$report" | grep -vE '_est[{ ]|interval_seconds|(buffers|cached)_bytes')" ""
ok "prom: the estimate" grep -q '^hotset_hitratio_hits_est{tier="proc",command="cat"} [0-9]' "$report"
like "a note says what it is" "$err" "*hitratio: estimate: *"
run "$hitratio" --tier=proc -q -f prom -o "$report" -- true
is "-q: no note" "$err" ""
like "--help marks them" "$("$hitratio" --help)" "*
  hits_est *estimate*"

note "not unasked"

if [ "$(id -u)" -eq 0 ]; then
	around=as_nobody
	run as_nobody "$TMP/hitratio" 0.1 1
	like "no privilege: exit 3, and what would help" "$status:$out:$err" "3::*(--estimate *"
	run as_nobody "$TMP/hitratio" --tier=tracepoint 0.1 1
	case $err in *--estimate*) false ;; *) true ;; esac
	verdict $? "one way only was asked for: it is not named"
	run as_nobody "$TMP/hitratio" --estimate -- cat "$TMP/file"
	like "--estimate: why it is one" "$err" "*CAP_BPF*estimate: *est *"
	run as_nobody "$TMP/hitratio" --estimate 0.1 1
	like "others' processes: exit 3" "$status:$out:$err" "3::*CAP_SYS_PTRACE*"
	estimate -- cat "$TMP/file"
	near "no privilege: accesses" "$accesses" $pages
	estimate -- sh -c 'cat "$1"; cat "$1"' sh "$TMP/file"
	near "no privilege, children: accesses" "$accesses" $((2 * pages))
	around=
	run "$BUILD/tests/enosys" bpf=EPERM -- "$hitratio" --estimate -f kv -- cat "$TMP/file"
	like "root, where no BPF program can be loaded" "$status:$err" "0:*tier=proc*"
	"$hitratio" 0.1 1 >"$TMP/out" 2>&1
	if [ $? -ne 3 ]; then
		run "$hitratio" --estimate -f tsv 0.1 1
		case $status:$out in 0:*_est*) false ;; 0:*hits*) true ;; *) false ;; esac
		verdict $? "where counting is possible, --estimate counts"
	else
		skip "where counting is possible, --estimate counts" "it is not here"
	fi
else
	skip "without privilege" "needs root to give it up"
fi
run "$hitratio" --estimate --with-faults 0.1 1
like "faults cannot be estimated" "$status:$out:$err" "3::*--with-faults*"

note "the machine"

# machine: an estimate of a second in which the file is read, cold; who ends meanwhile may
# make it unknown, so more than once
machine() {
	for _ in 1 2 3 4 5; do
		"$BUILD/tests/pages" --evict "$TMP/file"
		"$hitratio" --tier=proc -f kv -o "$report" 1.5 1 &
		counter=$!
		sleep 0.5
		cat "$TMP/file" >/dev/null
		wait $counter || return
		accesses=$(figure accesses) misses=$(figure misses)
		[ "$accesses" ] && [ "$misses" ] && return
	done
}
if [ "$(id -u)" -eq 0 ]; then
	machine
	ok "accesses are at least those" [ "${accesses:-0}" -ge $pages ]
	ok "misses are at least those" [ "${misses:-0}" -ge $pages ]
	"$hitratio" --tier=proc -f prom 0.2 >"$TMP/rows" &
	counter=$!
	sleep 1
	kill -INT $counter
	wait $counter
	ok "a run without COUNT has counters" \
		grep -q '^hotset_hitratio_misses_est_total{tier="proc"} [0-9]' "$TMP/rows"
else
	skip "the machine" "needs root"
fi

note "ratio-check"

check=$BUILD/ratio-check
"$hitratio" --tier=proc -f tsv -o "$TMP/samples" -- cat "$TMP/file" >/dev/null 2>&1
run "$check" -w 1 - <"$TMP/samples"
like "an estimate is not judged unasked" "$status:$out" "3:UNKNOWN: *--estimate accepts*accesses=U misses=U"
run "$check" --estimate -w 1 - <"$TMP/samples"
like "but where it is asked for" "$status:$out" "0:OK: *; estimate)*"
run "$check" --estimate -w 1 -f kv - <"$TMP/samples"
like "and is marked" "$out" "*
estimate=1"
for format in text kv; do
	"$hitratio" --tier=proc -f $format -o "$TMP/samples" -- cat "$TMP/file" >/dev/null 2>&1
	run "$check" --estimate -w 1 - <"$TMP/samples"
	like "from $format" "$status:$out" "0:OK: *; estimate)*"
	run "$check" -w 1 - <"$TMP/samples"
	is "from $format, unasked" "$status" 3
done
printf 'hits\tmisses\thits_est\tmisses_est\n\t\t\t5\n\t\t\t7\n' >"$TMP/samples"
run "$check" --estimate -w 1 - <"$TMP/samples"
like "no figures are no verdict" "$status:$out" "3:UNKNOWN: no figures in 2 samples *accesses=U misses=U"
printf 'hits\tmisses\thits_est\tmisses_est\n\t\t\t5\n\t\t9\t1\n' >"$TMP/samples"
run "$check" --estimate -w 1 - <"$TMP/samples"
like "and some, fewer" "$status:$out" "0:OK: *(9 hits, 1 misses; estimate; 1 samples without figures)*"

done_testing
