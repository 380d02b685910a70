# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Another process that uses files, after lib.sh.
# shellcheck disable=SC2154 # lib.sh's variables

cp "$BUILD/tests/holder" "$TMP" # where any user finds it
holder=$TMP/holder

# hold DO ARGUMENT...: starts a holder, by $around, and waits until it has done so; sets $held
hold() {
	rm -f ready
	# shellcheck disable=SC2086 # words
	$around "$holder" "$@" </dev/null >/dev/null 2>&1 3>&- &
	held=$!
	on_exit "kill -9 $held 2>/dev/null"
	for try in $(seq 100); do
		[ ! -L ready ] || return 0
		sleep 0.05
	done
	note "no holder after $try tries: $*"
	return 1
}

# let_go: ends the last one
let_go() {
	kill "$held"
	wait "$held" 2>/dev/null
}
