#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # ok and run call functions
# What all tools have in common: options, formats, output, and how they are linked.
. "$(dirname "$0")/lib.sh"
need readelf perl

. "$(dirname "$0")/family.sh"

# fails NAME STATUS: the last run did so, in the tool's name and without output
fails() {
	like "$tool: $1" "$status:$out:$err" "$2::$tool: *"
}

help_and_version() {
	for option in -h --help; do
		run "$exe" "$option"
		like "$tool $option" "$status:$err:$out" "0::usage: $tool *"
	done
	for option in -V --version; do
		run "$exe" "$option"
		like "$tool $option" "$status:$err:$out" "0::$tool (hotset) [0-9]*"
	done
	for option in -h -V; do
		status=0
		"$exe" "$option" >/dev/full 2>"$TMP/.err" || status=$?
		like "$tool $option on a full disk" "$status:$(cat "$TMP/.err")" "[1-9]*:$tool: *"
	done
	help=$("$exe" -h)
	for field in $(fields); do
		like "$tool: --help has the field $field" "$help" "*
  $field *"
	done
}

patient='timeout -s KILL 10' # what hangs may be deaf to other signals

mistakes() {
	for option in -Z --no-such-option --help=x -o --output --format=nonsense --timeout=5x \
		--timeout=0.0000000001; do
		run $patient "$exe" "$option" </dev/null
		fails "mistake $option" 3
	done
}

# options_of: the options that begin a line of standard input, one a line
options_of() {
	sed -n '/^ \{2,6\}-/ { s/\([^ ]\)   .*/\1/; p; }' |
		grep -oE '(^|[ ,])--?[A-Za-z0-9][-a-z0-9]*' | tr -d ' ,' | sort -u
}

# described: of a manual, the sections that describe options
described() {
	mandoc -Tascii -Owidth=200 "$1" | sed 's/.\x08//g' |
		awk '/^[A-Z]/ { described = /^(DESCRIPTION|OPTIONS)/ } described'
}

manual() {
	page=$source/cmd/$tool.1
	if ! command -v mandoc >/dev/null; then
		skip "$tool: the manual" "needs mandoc"
		return
	fi
	ok "$tool has a manual" [ -f "$page" ] || return
	is "$tool: --help and the manual list the same options" \
		"$("$exe" --help | sed '/^fields/,$d' | options_of)" \
		"$(described "$page" | options_of)"
	ok "$tool: the manual is well-formed" mandoc -Tlint -Wwarning "$page"
}

linkage() {
	headers=$(readelf -lW "$exe")
	case $headers in *INTERP* | *DYNAMIC*) false ;; *) true ;; esac
	verdict $? "$tool is linked statically"
	ok "$tool is stripped" [ -z "$(readelf -SW "$exe" | grep -E '[.](symtab|debug_info)')" ]
	size=$(wc -c <"$exe")
	ok "$tool takes $size bytes, at most $(budget)" [ "$size" -le "$(budget)" ]
}

formats() {
	for format in text tsv kv json prom; do
		run job -f "$format"
		is "$tool -f $format" "$status:$err" "0:"
		ok "$tool -f $format is well-formed" well_formed "$format"
		run job -q -f "$format"
		is "$tool -q -f $format is silent on standard error" "$status:$err" "0:"
	done
}

streams() {
	for format in text json prom; do
		status=0
		job -f "$format" >/dev/full 2>"$TMP/.err" || status=$?
		like "$tool -f $format on a full disk" "$status:$(cat "$TMP/.err")" \
			"[1-9]*:$tool: *: No space left on device*"
	done
	# the reader is gone before the tool begins
	{ sleep 0.1; status=0; job 2>"$TMP/.err" || status=$?; echo "$status" >"$TMP/.status"; } | :
	is "$tool: a closed pipe" "$(cat "$TMP/.status"):$(cat "$TMP/.err")" "141:"
	(
		trap '' PIPE
		{ sleep 0.1; status=0; job 2>"$TMP/.err" || status=$?; echo "$status" >"$TMP/.status"; } | :
	)
	is "$tool: a closed pipe, SIGPIPE ignored" "$(cat "$TMP/.status"):$(cat "$TMP/.err")" "141:"
	status=0
	job >&- 2>"$TMP/.err" || status=$?
	like "$tool: no standard output" "$status:$(cat "$TMP/.err")" "[1-9]*:$tool: *"
}

files() {
	mkdir "$TMP/out"
	umask 022
	run job -f json -o "$TMP/out/report"
	is "$tool -o: standard output" "$status:$out$err" "0:"
	# shellcheck disable=SC2046 # words
	ok "$tool -o: the report" json $(fields) <"$TMP/out/report"
	is "$tool -o: its mode" "$(stat -c %a "$TMP/out/report")" 644
	before=$(stat -c %i "$TMP/out/report")
	ln -s report "$TMP/out/link"
	exec 3<"$TMP/out/report" # keeps the inode's number from being used again
	run job -f json -o "$TMP/out/link"
	is "$tool -o through a link" "$status:$out$err" "0:"
	exec 3<&-
	ok "$tool -o: the link is left" [ -L "$TMP/out/link" ]
	ok "$tool -o replaces the report" [ "$before" != "$(stat -c %i "$TMP/out/report")" ]
	is "$tool -o leaves nothing else" "$(ls -A "$TMP/out")" "link
report"
	run job -o "$TMP/out/missing/report"
	like "$tool -o in a folder that is missing" "$status:$out:$err" "[1-9]*::$tool: *missing*"
	rm "$TMP/out/link"
	ln -s ../out/new "$TMP/out/link"
	run job -f json -o "$TMP/out/link"
	is "$tool -o through a link to nowhere" "$status:$out$err" "0:"
	ok "$tool -o: that link is left too" [ -L "$TMP/out/link" ]
	ok "$tool -o: its target is there" [ -s "$TMP/out/new" ]
	ln -s loop "$TMP/out/loop"
	run job -o "$TMP/out/loop"
	like "$tool -o through a loop of links" "$status:$out:$err" "[1-9]*::$tool: *loop*"
	owner
	pipes
	rm -r "$TMP/out"
	device
	full_disk
}

owner() {
	if ! chown 65534:65534 "$TMP/out/report" 2>/dev/null; then
		skip "$tool -o: the owner of a report" "needs root"
		return
	fi
	chmod 640 "$TMP/out/report"
	run job -o "$TMP/out/report"
	is "$tool -o: the report stays its owner's" \
		"$status:$(stat -c %u:%g:%a "$TMP/out/report")" "0:65534:65534:640"
}

pipes() {
	mkfifo "$TMP/out/fifo"
	runner=$patient
	run job -o "$TMP/out/fifo"
	like "$tool -o to a FIFO that nobody reads" "$status:$out:$err" \
		"[1-3]::$tool: */fifo: nobody reads it*"
	exec 4<>"$TMP/out/fifo"
	run job -f json -o "$TMP/out/fifo"
	is "$tool -o to a FIFO" "$status:$out$err" "0:"
	like "$tool -o to a FIFO: the report" "$(dd bs=65536 count=1 2>/dev/null <&4)" "{*}"
	exec 4<&-
	runner=
}

# a device of our own: a tool that replaced it must not do so with the system's
device() {
	rm -f "$TMP/null"
	if ! mknod "$TMP/null" c 1 3 2>/dev/null || ! : 2>/dev/null >"$TMP/null"; then
		skip "$tool -o to a device" "needs root and a file system with devices"
		return
	fi
	run job -o "$TMP/null"
	is "$tool -o to a device" "$status:$out$err" "0:"
	ok "$tool -o: it stays one" [ -c "$TMP/null" ]
}

full_disk() {
	if ! unshare -m true 2>/dev/null; then
		skip "$tool -o on a full disk" "needs root"
		return
	fi
	rm -f "$TMP/after"
	runner="unshare -m sh $TMP/on-full-disk"
	run job -f json -o "$TMP/full/report"
	like "$tool -o on a full disk" "$status:$err" "[1-9]*:$tool: *: No space left on device*"
	is "$tool -o on a full disk: the old report stays alone" "$(cat "$TMP/after")" "filler report
old"
	runner=
}

mkdir "$TMP/full"
cat >"$TMP/on-full-disk" <<END
mount -t tmpfs -o size=64k none "$TMP/full" || exit
echo old >"$TMP/full/report"
dd if=/dev/zero of="$TMP/full/filler" bs=4k 2>/dev/null
status=0
"\$@" || status=\$?
{ echo \$(ls -A "$TMP/full"); cat "$TMP/full/report"; } >"$TMP/after"
exit \$status
END

# An empty root: the binary, a file, /proc and /sys.
alone() {
	if ! unshare -m true 2>/dev/null; then
		skip "$tool alone" "needs root"
		return
	fi
	rm -rf "$TMP/root"
	mkdir -p "$TMP/root/proc" "$TMP/root/sys" "$TMP/root/tree"
	cp "$exe" "$TMP/root/"
	cp "$file" "$TMP/root/tree/"
	runner="unshare -m sh $TMP/alone" exe=/$tool
	file=/tree/file
	run $runner "$exe" --version
	like "$tool --version, alone" "$status:$err:$out" "0::$tool *"
	run job -f json
	is "$tool, alone" "$status:$err" "0:"
	ok "$tool, alone: its report" well_formed json
	runner='' exe=$BUILD/$tool file=$TMP/tree/file
}

cat >"$TMP/alone" <<END
mount -t proc none "$TMP/root/proc" && mount --rbind /sys "$TMP/root/sys" || exit
exec chroot "$TMP/root" "\$@"
END

# With -q standard error holds errors only: an error there is never success.
honest() {
	saved=$file
	for file in "$TMP/tree/missing" "$TMP/tree/file/x" "$(printf %5000s x)"; do
		run job -q
		like "$tool: an error is no success: $(printf %.30s "$file")" \
			"$status:${err:+error}" "[1-9]*:error"
	done
	echo old >"$TMP/report"
	run job -o "$TMP/report" # of nothing at all
	is "$tool: where all fails the old report stays" "$(cat "$TMP/report")" old
	file=$saved
	run "$exe" </dev/null
	fails "no operand" 3
	secret
	run job -f prom "$file"
	fails "an operand twice in prom" 3
	run job -f prom -T "$file"
	fails "an operand that is the list's name, in prom" 3
	run job -f tsv "$file"
	like "$tool: an operand twice in tsv" "$status:$err" "[01]:*"
	lists
}

secret() {
	(umask 077 && echo secret >"$TMP/secret")
	if [ "$(id -u)" -eq 0 ]; then
		cp "$exe" "$TMP/anybody"
		runner=as_nobody exe=$TMP/anybody
	else
		chmod 000 "$TMP/secret"
	fi
	saved=$file file=$TMP/secret
	run job -q
	like "$tool: a file that may not be read" "$status:$err" \
		"[1-9]*:$tool: $TMP/secret: Permission denied*"
	rm -f "$TMP/secret"
	runner='' exe=$BUILD/$tool file=$saved
}

# What is no list ends, at the time limit at the latest, and takes no memory.
lists() {
	mkfifo "$TMP/names"
	run $patient "$exe" -t 0.3 -T "$TMP/names"
	like "$tool: a list that nobody writes" "$status:$err" "[1-3]:$tool: *"
	rm "$TMP/names"
	run $patient "$exe" -t 0.5 -T /dev/zero
	like "$tool: a list without end" "$status:$err" "[1-3]:$tool: /dev/zero: *"
	run $patient "$exe" -t 0.5 -T - </dev/zero
	like "$tool: standard input without end" "$status:$err" "[1-3]:$tool: -: *"
}

everything() {
	help_and_version
	mistakes
	manual
	linkage
	if ! able; then
		skip "$tool: its job" "$reason"
		return
	fi
	formats
	streams
	files
	alone
	takes_files && honest
}
each_tool everything
command -v promtool >/dev/null || skip "promtool check metrics" "promtool is not installed"
done_testing
