# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Memory that is tight, after lib.sh. Nobody here shall run out of memory: what the kernel tells is
# made up, for single runs.

# memory FREE AVAILABLE [LOCKED]: so many KiB are, on a machine of 1 GiB
memory() {
	printf 'MemTotal: 1048576 kB\nMemFree: %9d kB\nMemAvailable: %9d kB\nInactive(file): 0 kB\nMlocked: %9d kB\n' \
		"$1" "$2" "${3:-0}" | dd of="$TMP/meminfo" conv=notrunc status=none
}

# milliseconds: of the monotonic clock
milliseconds() {
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}

# stalls: tasks have waited since the machine was started
stalls() {
	set -- "$(milliseconds)"
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=%09d000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%09d000\n' \
		"$1" "$1" | dd of="$TMP/stalls" conv=notrunc status=none
}

# tighten: from now on, tasks wait all the time; relax: no longer
tighten() {
	: >"$TMP/tight"
	while [ -e "$TMP/tight" ]; do
		stalls
		sleep 0.1
	done &
	tightener=$!
}

relax() {
	rm -f "$TMP/tight"
	wait "$tightener"
}

# made_up COMMAND...: on that machine
made_up() {
	# shellcheck disable=SC2016 # the inner shell's
	exec unshare -m sh -c 'mount --bind "$1" /proc/pressure/memory && mount --bind "$2" /proc/meminfo &&
		shift 2 && exec "$@"' sh "$TMP/stalls" "$TMP/meminfo" "$@"
}
