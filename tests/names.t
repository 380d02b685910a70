#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2317 # ok and run call functions
# Names of files that hold any byte, in every format of every tool that takes files.
. "$(dirname "$0")/lib.sh"
need perl
. "$(dirname "$0")/family.sh"

hostile() {
	takes_files || return 0
	mkdir -p "$TMP/hostile"
	cd "$TMP/hostile" || exit 1
	# shellcheck disable=SC2016 # these are names
	for escaped in 'new\nline' 'quo'\''te' 'dou"ble' 'back\\\\slash' 'tab\ttab' 'bad\377\376utf8' \
		'-dash' '$(touch pwned)' '`touch pwned`' 'a;touch pwned' 'esc\033[31m' 'a=b' ' ' '#x' \
		'\303\244' '\302\233c1' '{x="y"}'; do
		# shellcheck disable=SC2059 # the escapes are meant
		name=$(printf -- "$escaped")
		label=$(printf %s "$escaped" | tr '\134' /)
		file=./$name
		cp "$TMP/tree/file" "$file"
		run job -f kv
		# shellcheck disable=SC2016 # the inner shell's
		is "$tool -f kv: $label" \
			"$status:$(env -i sh -eu -c 'eval "$1"; printf %s "$path"' sh "$out")" "0:$file"
		run job -f json
		is "$tool -f json: $label" "$status:$(path_of_json)" "0:$file"
		run job -f tsv
		ok "$tool -f tsv: $label" well_formed tsv
		run job -f prom
		ok "$tool -f prom: $label" well_formed prom
		run job
		is "$tool: $label" "$(tr -d '\n' <"$TMP/.out" | tr -dc '\001-\037\177')" ""
		rm "$file"
		run job
		like "$tool: $label is missing" "$status:$(wc -l <"$TMP/.err")" "[1-9]*:1"
	done
	ok "$tool: nothing was run" [ ! -e pwned ]
	cd - >/dev/null || exit 1
	file=$TMP/tree/file
}

# path_of_json: the bytes that it stands for
path_of_json() {
	perl -MJSON::PP -ne '
		s/\\udc([89a-f][0-9a-f])/\\uf7$1/g; # to where no name has characters
		my $path = JSON::PP->new->utf8->decode($_)->{path};
		utf8::encode($path);
		$path =~ s/\xef([\x9e\x9f])([\x80-\xbf])/chr((ord($1) & 3) << 6 | ord($2) & 63)/ge;
		print $path;
		last; # lock tells again how it ended
	' "$TMP/.out"
}

each_tool hostile
done_testing
