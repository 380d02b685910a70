#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Where options end and operands begin: an option too late, and "--" as an option's argument.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$TMP" || exit 1

# late WORD TOOL ARGUMENT...: is a mistake, and the word is what it is about
late() {
	late_word=$1
	late_tool=$2
	shift 2
	run "$BUILD/$late_tool" "$@" </dev/null
	is "$late_tool $*" "$status:$out:$err" \
		"3::$late_tool: $late_word comes too late: options come before operands (see $late_tool --help)"
}
late -w ratio-check 0.2 2 -w 90
late -w ratio-check - -w 90
late --syslog ratio-check -w 90 1 5 --syslog
late -p hitratio 100 -p 5
late --estimate hitratio 1 --estimate -- true
late -v hitratio --self-test "$TMP" -v

run "$BUILD/ratio-check" -w 90 -- -5
like "a number is no option" "$status:$err" '3:ratio-check: "-5" is not an interval *'

run "$BUILD/hitratio" -o -- true
like "-- is the file of -o, and no separator" "$status:$err" '3:hitratio: "true" is not a valid interval*'
is "nothing is run or written" "$(echo ./*)" "./*"
if [ "$(id -u)" -eq 0 ] && "$BUILD/hitratio" 0.1 1 >/dev/null 2>&1; then
	run "$BUILD/hitratio" -f kv -o -- -- touch ran
	is "and one behind it is" "$status:$(grep -c ^hits= ./--):$(ls)" "0:1:--
ran"
	run "$BUILD/hitratio" -q -- touch again
	ok "one that ends the options starts the command" test -e again
else
	skip "a command" "hitratio cannot count here"
fi
rm -f ./--
: >file
run "$BUILD/lock" -t 0.1 -o -- file
like "lock: the same" "$err:$(head -n 1 ./--)" ":*FILES *"
printf x >-x
run "$BUILD/resident" -f kv file -x
is "a file may be called so" "$status:$(value path 2)" "0:-x"

done_testing
