# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests that run over all tools share, after lib.sh.
# shellcheck disable=SC2034,SC2154,SC2317 # ok and run call functions; lib.sh's variables

source=$(dirname "$0")/..
LC_ALL=C
export LC_ALL

# The tool at hand, and how it is run: by $runner (a command, or empty) as $exe, which
# finds $file in a folder with nothing else.
tool='' exe='' runner='' file=$TMP/tree/file

# job OPTION...: something that the tool can do within a second
job() {
	case $tool in
	hitratio) $runner "$exe" "$@" 0.2 1 ;;
	ratio-check) $runner "$exe" -w 1 "$@" - <"$TMP/samples" ;;
	lock) $runner "$exe" -t 0.7 "$@" "$file" ;;
	*) $runner "$exe" "$@" "$file" ;;
	esac
}

# able: whether the tool's job can be done here at all; else sets $reason
able() {
	[ "$tool" = hitratio ] || return 0
	reason="hitratio needs root"
	[ "$(id -u)" -eq 0 ] || return 1
	run job
	reason="hitratio cannot count on this kernel: $err"
	[ "$status" -ne 3 ]
}

# fields: those that scripts may rely on
fields() {
	case $tool in
	hitratio)
		echo time interval_s accesses hits misses ratio faults fault_misses stalls fills \
			waste pending lost dirties buffers_bytes cached_bytes tier
		;;
	resident)
		echo path files size_bytes pages resident_pages resident_bytes ratio dirty_bytes \
			writeback_bytes evicted_pages recently_evicted_pages unknown_files errors method
		;;
	warm)
		echo path files size_bytes already_bytes read_bytes resident_bytes ratio \
			skipped_bytes failed_files seconds bytes_per_s
		;;
	lock)
		echo path files asked_bytes pinned_bytes lost_bytes released_bytes repinned_bytes \
			limit_bytes state
		;;
	ratio-check)
		echo status ratio accesses misses threshold_warn threshold_crit baseline message
		;;
	esac
}

# budget: bytes that the stripped binary may take
budget() {
	case $tool in
	hitratio) echo 409600 ;;
	# four ways to report, snapshots, and the files of processes
	resident) echo 151552 ;;
	# four ways to be told what to load; it looks at all of it once more at the end; and it
	# evicts, and tells why what stayed did, or would
	warm) echo 188416 ;;
	# it loads before it pins, and is a service that can be asked
	lock) echo 200704 ;;
	*) echo 122880 ;;
	esac
}

takes_files() {
	case $tool in
	resident | warm | lock) true ;;
	*) false ;;
	esac
}

mkdir "$TMP/tree" || exit 1
dd if=/dev/urandom of="$TMP/tree/file" bs=64k count=4 2>/dev/null
printf 'HITS MISSES\n99 1\n' >"$TMP/samples"

# json FIELD...: standard input is objects, one a line, with these fields. The bytes
# that are no UTF-8 are lone surrogates there, which perl's own reader refuses.
json() {
	perl -MJSON::PP -ne '
		s/\\udc([89a-f][0-9a-f])/\\u00$1/g;
		my $object = decode_json($_);
		for my $field (@fields) { exists $object->{$field} or die "no $field" }
		$lines++;
		BEGIN { @fields = @ARGV; @ARGV = () }
		END { exit 1 unless $lines }
	' "$@"
}

# tsv FIELD...: a heading with these fields, then rows of as many cells
tsv() {
	awk -F '\t' -v fields="$*" '
		NR == 1 { cells = NF; for (i = 1; i <= NF; i++) heading[$i] = 1 }
		NF != cells { wrong = 1 }
		END {
			count = split(fields, wanted, " ")
			for (i = 1; i <= count; i++) if (!(wanted[i] in heading)) wrong = 1
			exit NR < 2 || wrong
		}'
}

# kv FIELD...: a shell that evaluates it has a variable for each, and says nothing
kv() {
	kv_text=$(cat)
	for kv_field; do
		# shellcheck disable=SC2016 # the inner shell's
		env -i sh -eu -c 'eval "$1"; eval ": \"\$$2\""' sh "$kv_text" "$kv_field" || return
	done
}

# prom: of the last set, each metric in one piece, with its HELP and TYPE first, and only numbers
prom() {
	awk -v RS= '{ set = $0 } END { print set }' >"$TMP/.set"
	awk '
		/^# HELP hotset_/ { if (seen[$3]++ || NF < 4) wrong = 1; help = $3; next }
		/^# TYPE hotset_/ { if ($3 != help || $4 !~ /^(gauge|counter)$/) wrong = 1
			typed = $3; next }
		/^hotset_/ { name = $1; sub(/[{].*/, "", name)
			if (name != typed || $NF !~ /^-?[0-9]+([.][0-9]+)?$/) wrong = 1
			samples++; next }
		{ wrong = 1 }
		END { exit wrong || !samples }' "$TMP/.set" || return
	command -v promtool >/dev/null || return 0
	promtool check metrics <"$TMP/.set"
}

# well_formed FORMAT
well_formed() {
	# shellcheck disable=SC2046 # words
	case $1 in
	text) [ -s "$TMP/.out" ] ;;
	prom) prom <"$TMP/.out" ;;
	*) "$1" $(fields) <"$TMP/.out" ;;
	esac
}

# each_tool FUNCTION: calls it with $tool and $exe set, for each that there is
each_tool() {
	for page in "$source"/cmd/*.c; do
		tool=$(basename "$page" .c) exe=$BUILD/$tool
		note "$tool"
		if [ -x "$exe" ]; then
			"$1"
		else
			ok "$tool is there" false
		fi
	done
}
