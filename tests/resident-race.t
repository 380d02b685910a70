#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # functions that are run by their names
# resident: files that come, go, grow and shrink while it looks
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

resident=$BUILD/resident
mkdir "$TMP/w"
cd "$TMP/w" || exit 1
mkdir -p tree/a tree/b

# What stays: 600 files of a page, in memory as they were just written.
for i in $(seq 300); do
	echo "$i" >tree/a/stays"$i"
	echo "$i" >tree/b/stays"$i"
done

# meanwhile COMMAND...: runs it over and over until the next `enough`
meanwhile() {
	(while :; do "$@"; done) >/dev/null 2>&1 &
	busy=$!
}
enough() {
	kill $busy
	wait $busy 2>/dev/null
}

# steady NAME ARGUMENTS...: of 20 runs none has an error or a message, and each has the
# files that stay
steady() {
	steady_name=$1
	shift
	bad=
	for try in $(seq 20); do
		run "$resident" -f tsv -v "$@"
		stays=$(printf '%s\n' "$out" | grep -c '/stays[0-9]*\(	\|$\)')
		[ "$status:$err:$stays" = "0::600" ] || bad="run $try: exit $status, $stays files, $err"
	done
	is "$steady_name" "$bad" ""
	enough
}

come_and_go() {
	touch tree/a/m1 tree/b/m2 tree/a/z1
	rm -f tree/a/m1 tree/b/m2 tree/a/z1
}
meanwhile come_and_go
steady "files come and go" tree

rename_all() {
	for i in 1 2 3 4 5 6 7 8; do
		echo x >tree/a/n"$i"
		mv tree/a/n"$i" tree/b/n"$i"
		rm tree/b/n"$i"
	done
}
meanwhile rename_all
steady "files are moved" --sort=none tree

folders() {
	mkdir -p tree/b/d/e/f
	touch tree/b/d/e/f/g
	rm -rf tree/b/d
}
meanwhile folders
steady "folders come and go" tree
meanwhile folders
steady "folders come and go, with rows of their own" --depth=3 tree

kinds() {
	ln -s nowhere tree/a/k
	rm -f tree/a/k
	mkfifo tree/a/k
	rm -f tree/a/k
	mkdir tree/a/k
	rmdir tree/a/k
	echo x >tree/a/k
	rm -f tree/a/k
}
meanwhile kinds
steady "a name is now this, now that" tree

size() {
	head -c 300000 /dev/zero >>tree/a/size
	head -c 3000000 /dev/zero >>tree/a/size
	truncate -s 5000 tree/a/size
	truncate -s 0 tree/a/size
}
meanwhile size
steady "a file grows and shrinks" tree
meanwhile size
steady "and its map is drawn" --map -f text tree
# a map's rows are text: columns by blanks
meanwhile size
bad=
for try in $(seq 20); do
	run "$resident" --holes tree/a/size
	case $status:$err in 0:) ;; *) bad="run $try: exit $status, $err" ;; esac
done
enough
is "and its holes are listed" "$bad" ""

# It is replaced whole at each time: one or the other is seen, never neither.
replace() {
	echo new >tree/a/next
	mv tree/a/next tree/a/stays1
}
meanwhile replace
steady "a file is replaced" tree

done_testing
