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

# download NAME TARBALL SHA256
download()
{
	mkdir "$apt/$1"
	# When apt cannot, the missing file is what tells.
	(cd "$apt/$1" &&
		private_apt apt-get source --download-only --tar-only "$1" >>"$log" 2>&1) || :
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
log=$apt/log

cd "$(dirname "$0")"
. ./apt.sh
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
		write_parts deb-src ||
			die "apt has no Debian bookworm entry to fetch sources from;" \
				"unpack them yourself and set LIBBPF_SRC, ELFUTILS_SRC, ZLIB_SRC"
		private_apt apt-get update >>"$log" 2>&1 || :
	fi
	download "$name" "$tarball" "$sum"
done
rm -rf "$apt"
