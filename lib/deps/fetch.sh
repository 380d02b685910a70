#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fetch.sh FOLDER [NAME...]
# Brings the tarballs of the named libraries, as pinned in lib/deps/sources,
# into FOLDER and checks them. They come from Debian's source packages, from
# the mirror that the system's own apt uses; its configuration stays as it is.

set -eu
export LC_ALL=C

die()
{
	echo "deps: $*" >&2
	exit 1
}

# check FILE SHA256: a file that is not the pinned one is not kept.
check()
{
	found=$(sha256sum <"$1" | cut -d ' ' -f 1)
	[ "$found" = "$2" ] || {
		rm -f "$1"
		die "$1: sha256 is $found, expected $2 (removed)"
	}
}

# The system's Debian entries, as deb-src ones: $parts/debian.sources from
# the deb822 files, $parts/debian.list from the one-line files.
write_parts()
{
	eval "$(apt-config shell list Dir::Etc::sourcelist/f \
		dir Dir::Etc::sourceparts/d)"

	# shellcheck disable=SC2154 # apt-config sets dir and list
	find "$dir" -name '*.sources' -exec awk '
	BEGIN { RS = "" }
	{
		split("", field)
		n = split($0, line, "\n")
		for (i = 1; i <= n; i++) {
			if (line[i] ~ /^#/)
				continue
			if (line[i] ~ /^[ \t]/) {
				field[key] = field[key] "\n" line[i]
				continue
			}
			key = tolower(substr(line[i], 1, index(line[i], ":") - 1))
			field[key] = substr(line[i], index(line[i], ":") + 1)
		}
		suites = ""
		n = split(field["suites"], suite, /[ \t\n]+/)
		for (i = 1; i <= n; i++)
			if (suite[i] ~ /^bookworm(-updates|-security)?$/)
				suites = suites " " suite[i]
		if (suites == "" || field["enabled"] ~ /no/ ||
		    (field["components"] " ") !~ /[ \t]main[ \t]/)
			next
		print "Types: deb-src\nURIs:" field["uris"]
		print "Suites:" suites "\nComponents: main"
		if ("signed-by" in field)
			print "Signed-By:" field["signed-by"]
		print ""
	}' {} + >"$parts/debian.sources"

	# shellcheck disable=SC2154
	find "$list" "$dir" -name '*.list' -exec awk '
	{
		sub(/#.*/, "")
		options = ""
		if (match($0, /\[[^]]*\]/)) {
			options = substr($0, RSTART, RLENGTH) " "
			$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
		}
	}
	$1 ~ /^deb(-src)?$/ && $2 !~ /^cdrom:/ && / main( |$)/ &&
	$3 ~ /^bookworm(-updates|-security)?$/ {
		print "deb-src " options $2, $3, "main"
	}' {} + >"$parts/debian.list" 2>/dev/null || :

	[ -s "$parts/debian.sources" ] || [ -s "$parts/debian.list" ] ||
		die "apt has no Debian bookworm entry to fetch sources from;" \
			"unpack them yourself and set LIBBPF_SRC, ELFUTILS_SRC, ZLIB_SRC"
}

# As root, apt would fetch as a user of its own, who cannot write here.
private_apt()
{
	apt-get -q -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$parts" \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User=root "$@" >>"$log" 2>&1 </dev/null
}

# download NAME TARBALL SHA256
download()
{
	mkdir "$apt/$1"
	# When apt cannot, the missing file is what tells.
	(cd "$apt/$1" &&
		private_apt source --download-only --tar-only "$1") || :
	[ -f "$apt/$1/$2" ] || {
		found=$(ls "$apt/$1")
		error=$(grep -m 1 -E '^(E:|W: Failed)' "$log" || echo no error)
		die "$2: not downloaded: expected it in Debian's source package $1," \
			"found ${found:-nothing}; apt-get says: $error"
	}
	check "$apt/$1/$2" "$3"
	mv "$apt/$1/$2" "$folder/$2"
}

folder=$(realpath "$1")
shift
apt=$folder/apt
parts=$apt/parts
log=$apt/log

cd "$(dirname "$0")"
rm -rf "$apt"
for name in "$@"; do
	read -r _ _ tarball sum <<-EOF
	$(grep "^$name	" sources)
	EOF
	if [ -f "$folder/$tarball" ]; then
		check "$folder/$tarball" "$sum"
		continue
	fi
	if [ ! -d "$apt" ]; then
		echo "deps: fetching sources"
		mkdir -p "$parts" "$apt/lists/partial" "$apt/cache/archives/partial"
		write_parts
		private_apt update || :
	fi
	download "$name" "$tarball" "$sum"
done
rm -rf "$apt"
