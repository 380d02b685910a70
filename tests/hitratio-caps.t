#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio: with no more privilege than CAP_BPF and CAP_PERFMON it counts, and with less it says
# what is missing.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio
need_root
need setpriv setcap

# with_caps CAPS COMMAND...: as a plain user who has these capabilities, such as +bpf,+perfmon
# shellcheck disable=SC2317 # run calls it
with_caps() {
	caps=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$caps" --ambient-caps="-all,$caps" "$@"
}

run "$hitratio" 0.1 1
[ "$status" -eq 0 ] || skip_all "root cannot count here: $err"

note "with just the two"

dd if=/dev/zero of="$TMP/file" bs=4096 count=1000 2>/dev/null
sync "$TMP/file"
both=+bpf,+perfmon

# cold WAY COMMAND...: as run, with the file out of memory but for what nobody can help
cold() {
	for _ in 1 2 3 4 5; do
		"$BUILD/tests/pages" --evict "$TMP/file" && break
	done
	run "$@"
}

cold with_caps $both "$hitratio" -f kv -- cat "$TMP/file"
printf '%s\n' "$err" >"$TMP/kv"
is "a command: status 0" "$status" 0
is "a command: each page of a cold file" "$(sed -n 's/^misses=//p' "$TMP/kv")" 1000
run with_caps $both "$hitratio" -f kv 0.2 1
is "the machine: status 0" "$status" 0
sleep 100 &
sleeper=$!
run with_caps $both "$hitratio" -p $sleeper -f kv 0.2 1
kill $sleeper
is "another user's process: status 0" "$status" 0
is "another user's process: its accesses" "$(value accesses)" 0

note "where /proc hides others' processes"

sleep 100 &
sleeper=$!
# shellcheck disable=SC2016 # the inner shell's
hiding() {
	run unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
		setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,$both \
		--ambient-caps=-all,$both "$@"
}
hiding "$hitratio" -- true
is "a command is counted" "$status" 0
hiding "$hitratio" -p $sleeper 0.1 1
like "-p: some could be missed, so it does not begin" "$status $err" "3 *hidepid*CAP_SYS_PTRACE*"
kill $sleeper

note "as capabilities of the file"

cp "$hitratio" "$BUILD/ratio-check" "$TMP/"
if setcap cap_bpf,cap_perfmon=ep "$TMP/hitratio" 2>"$TMP/setcap"; then
	cold as_nobody "$TMP/hitratio" -f kv -- cat "$TMP/file"
	printf '%s\n' "$err" >"$TMP/kv"
	is "each page of a cold file" "$(sed -n 's/^misses=//p' "$TMP/kv")" 1000
	while [ ! -e "$TMP/over" ]; do
		cat "$TMP/file" >/dev/null
		sleep 0.05
	done &
	reader=$!
	run as_nobody "$TMP/ratio-check" -c 0 0.2 3
	: >"$TMP/over"
	wait $reader
	is "ratio-check beside it has a verdict" "$status" 0
else
	skip "hitratio with capabilities" "$(cat "$TMP/setcap")"
fi

note "with one of them"

run with_caps +bpf "$hitratio" 0.1 1
is "without CAP_PERFMON: exit 3" "$status" 3
like "without CAP_PERFMON: that is named" "$err" "*needs CAP_PERFMON*"
run with_caps +perfmon "$hitratio" 0.1 1
is "without CAP_BPF: exit 3" "$status" 3
like "without CAP_BPF: that is named" "$err" "*needs CAP_BPF*"
run setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin "$hitratio" 0.1 1
is "root without them: exit 3" "$status" 3
like "root without them: says who takes them away" "$err" "*needs CAP_BPF, *root*container*"

note "a reason is told to its end"

# each tier's, and what would do without
run sh -c 'ulimit -n 8; exec "$@"' sh "$hitratio" 0.1 1
is "without descriptors: exit 3" "$status" 3
like "all of hitratio's" "$err" "*kprobes: *tracepoints: *(--estimate would take what /proc tells)"
run sh -c 'ulimit -n 14; exec "$@"' sh "$BUILD/ratio-check" -c 0 0.1 1
like "and ratio-check's" "$out" "*kprobes: *tracepoints: *(--estimate would take what /proc tells)*"

done_testing
