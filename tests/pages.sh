# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files whose pages in memory are known, after lib.sh. The kernel may reclaim some at any
# time: a state is made again until it holds, rather than a bound widened.
# shellcheck disable=SC2034,SC2154 # out and resident are for the tests; lib.sh's variables

pages=$BUILD/tests/pages
enosys=$BUILD/tests/enosys
page=$(getconf PAGESIZE)
cp "$BUILD/resident" "$pages" "$enosys" "$TMP" # where any user finds them
resident=$TMP/resident

# file NAME PAGES [BYTES]: makes a file of so many pages and bytes, clean and cold
file() {
	head -c $(($2 * page + ${3:-0})) /dev/zero >"$1"
	"$pages" --evict "$1"
}

# warm NAME FIRST COUNT TOTAL: pages FIRST up to FIRST+COUNT of TOTAL are in memory, no
# others. The kernel may reclaim some at any time: again, until it is so.
warm() {
	for try in 1 2 3 4 5; do
		"$pages" --evict "$1"
		[ "$3" -eq 0 ] || "$pages" --warm "$1" $(($2 * page)) $(($3 * page))
		[ "$("$pages" "$1")" != "$3/$4" ] || return 0
	done
	note "$1: $("$pages" "$1") pages in memory, not $3/$4, after $try tries"
	return 1
}

# cold NAME...: nothing of all these is in memory
cold() {
	for cold_name; do
		for try in 1 2 3 4 5; do
			[ "$try" -eq 1 ] || sleep 0.1
			"$pages" --evict "$cold_name"
			case $("$pages" "$cold_name") in 0/*) continue 2 ;; esac
		done
		note "$cold_name: $("$pages" "$cold_name") pages in memory, not 0, after $try tries"
		return 1
	done
}

# hot NAME...: all of these is in memory; $again does this once more
hot() {
	again="hot $*"
	for hot_name; do
		hot_pages=$(stat -c %s "$hot_name")
		hot_pages=$(((hot_pages + page - 1) / page))
		for try in 1 2 3 4 5; do
			cat "$hot_name" >/dev/null
			[ "$("$pages" "$hot_name")" != $hot_pages/$hot_pages ] || continue 2
		done
		note "$hot_name: $("$pages" "$hot_name") pages in memory, not $hot_pages, after $try tries"
		return 1
	done
}

# load FILE RUN...: only these pages come in. A run is FIRST+COUNT, in pages, and may end in
# @FOLDER of the cgroup that is to pay for it
load() {
	load_file=$1
	shift
	"$pages" --evict "$load_file"
	for run; do
		load_first=${run%%+*}
		load_count=${run#*+}
		load_count=${load_count%%@*}
		case $run in
		*@*) load_group=${run#*@}/cgroup.procs ;;
		*) load_group=/dev/null ;;
		esac
		# shellcheck disable=SC2016 # the inner shell's
		sh -c 'echo $$ >"$1" && shift && exec "$@"' sh "$load_group" \
			"$pages" --warm "$load_file" $((load_first * page)) $((load_count * page))
	done
}

# map_of FILE RUN...: what pages --map says when exactly these are in memory
map_of() {
	map_total=$(($(stat -c %s "$1") + page - 1))
	map_total=$((map_total / page))
	shift
	printf '%s\n' "$@" | awk -F '[+@]' -v total="$map_total" '
		{ for (i = $1; i < $1 + $2; i++) there[i] = 1 }
		END { for (i = 0; i < total; i++) printf "%d", there[i]; print "" }'
}

# with FILE "RUN..." COMMAND...: runs it (as run does) while exactly these pages are in
# memory, before and after it; else $out tells what was
with() {
	with_file=$1
	with_runs=$2
	shift 2
	# shellcheck disable=SC2086 # words
	wanted_map=$(map_of "$with_file" $with_runs)
	for try in 1 2 3 4 5; do
		# shellcheck disable=SC2086
		load "$with_file" $with_runs
		before=$("$pages" --map "$with_file")
		run "$@"
		after=$("$pages" --map "$with_file")
		[ "$before,$after" != "$wanted_map,$wanted_map" ] || return 0
	done
	out="pages $before then $after, not $wanted_map, after $try tries"
}
