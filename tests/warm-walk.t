#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# warm, deep trees: memory has a bound, and every file is found
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

warm=$BUILD/warm
cd "$TMP" || exit 1
mkdir deep
long=$(printf '%0240d' 0)

# level: 3000 empty files of long names, and a folder
level() {
	seq 3000 | sed "s/^/$long/" | xargs touch
	mkdir d && cd d || exit
}

(cd deep && for _ in $(seq 40); do level; done) || exit 1
count=$((40 * 3000))

# limited KIB COMMAND...: as run, with so much address space
limited() {
	# shellcheck disable=SC3045,SC2016 # every sh on Linux has ulimit -v; the inner shell's
	run sh -c 'ulimit -v "$1" && shift && exec "$@"' sh "$@"
}

limited 32000 "$warm" -j 1 -f kv deep
is "40 levels of 800 KB of names: all files, in memory for 16 levels" \
	"$status:$(value files):$(value failed_files):$err" "0:$count:0:"

done_testing
