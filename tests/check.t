#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What lies in check/ does its work as it stands.
. "$(dirname "$0")/lib.sh"

check=$(dirname "$0")/../check
mkdir "$TMP/bin" || exit 1
cp "$BUILD/ratio-check" "$TMP/bin/" || exit 1

# hitratio HITS MISSES: what hitratio says in each of five intervals from here on
hitratio() {
	cat >"$TMP/bin/hitratio" <<-END
		#!/bin/sh
		printf 'hits\tmisses\n'
		for _ in 1 2 3 4 5; do printf '%s\t%s\n' '$1' '$2'; done
	END
	chmod 755 "$TMP/bin/hitratio"
}

note "cron"

cron=$check/cron/hotset
is "cron reads files whose last line ends" "$(tail -c 1 "$cron" | od -An -c | tr -d ' ')" '\n'
case ${cron##*/} in *[!A-Za-z0-9_-]*) false ;; *) true ;; esac
verdict $? "its name is one that cron does not pass over"
entries=$(grep -vE '^(#|$|[A-Z]+=)' "$cron")
is "one entry" "$(echo "$entries" | wc -l)" 1
fields='^([0-9*/,-]+ ){5}root [^ ]'
ok "five fields and a user" grep -qE "$fields" "$cron"
like "every five minutes" "$entries" '*/5 \* \* \* \* root *'
case $entries in *%*) false ;; *) true ;; esac
verdict $? "no % that cron would take for a newline"
command=$(echo "$entries" | cut -d ' ' -f 7-)
path=$(sed -n 's/^PATH=//p' "$cron")
like "its PATH finds what make install puts there" ":$path:" "*:/usr/local/bin:*"

hitratio 99 1
run env -i PATH="$TMP/bin:$path" /bin/sh -c "$command"
is "no mail where all is well" "$status:$out$err" "0:"
# its own /dev without a log: nothing goes to that of this machine
if unshare -m true 2>/dev/null; then
	mkdir "$TMP/dev" && : >"$TMP/dev/null"
	# entry: what cron runs
	entry() {
		# shellcheck disable=SC2016 # the inner shell's
		run unshare -m sh -c 'mount --bind /dev/null "$1/null" && mount --bind "$1" /dev &&
			exec env -i PATH="$2" /bin/sh -c "$3"' sh "$TMP/dev" "$TMP/bin:$path" "$command"
	}
	hitratio 0 0
	entry
	is "nothing, and no try to log it, where nothing was read" "$status:$out$err" "3:"
	hitratio 1 1
	entry
	like "mail where the log does not take the alert" "$status:$out$err" \
		"2:ratio-check: /dev/log: *"
else
	skip "an alert" "needs root and mount namespaces"
fi

note "nagios"

nagios=$check/nagios/hotset.cfg
line=$(sed -n 's/^[[:blank:]]*command_line[[:blank:]]*//p' "$nagios")
like "the command is where make install puts it" "$line" "/usr/local/bin/ratio-check *"
ok "each block is closed" [ "$(grep -c '^define .* {$' "$nagios")" -eq "$(grep -c '^}$' "$nagios")" ]
line=$(echo "$line" | sed "s|/usr/local/bin|$TMP/bin|; s/\\\$ARG1\\\$/90/; s/\\\$ARG2\\\$/80/")

# verdict_of HITS MISSES STATUS WORD
verdict_of() {
	hitratio "$1" "$2"
	run env -i /bin/sh -c "$line"
	like "$4" "$status:$err:$out" "$3::$4: page-cache hit ratio *% *(*) | ratio=*%;90:;80:;0;100 *"
	ok "$4: one line" [ "$(wc -l <"$TMP/.out")" -eq 1 ]
	text=${out%% |*}
	ok "$4: ${#text} characters before the bar, fewer than 80" [ ${#text} -lt 80 ]
}
verdict_of 123456 1234 0 OK
verdict_of 123456 23456 1 WARNING
verdict_of 123456 123456 2 CRITICAL
hitratio 0 0
run env -i /bin/sh -c "$line"
like "UNKNOWN" "$status:$err:$out" "3::UNKNOWN: no file reads in 5 s | ratio=U;*"

note "with the real hitratio"

if [ "$(id -u)" -eq 0 ] && [ -x "$BUILD/hitratio" ]; then
	cp "$BUILD/hitratio" "$TMP/bin/"
	run env -i /bin/sh -c "$line"
	like "a verdict" "$status:$err:$out" "[0-3]::[A-Z]*: * | ratio=*;90:;80:;0;100 accesses=*"
else
	skip "a verdict" "needs root"
fi

done_testing
