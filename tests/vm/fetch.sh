#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fetch.sh SUITE FOLDER
# Brings the newest cloud kernel of a Debian suite into FOLDER: vmlinuz, lib/modules, and
# in `version` what it is. Nothing is fetched that is there already, and the archive is
# asked once in half a day (remove `checked` to ask at once); where it cannot be reached,
# what was fetched before stays in use.

set -eu
export LC_ALL=C

die()
{
	echo "vm: $*" >&2
	exit 1
}

suite=$1
folder=$2
mkdir -p "$folder"
folder=$(realpath "$folder")
apt=$folder/apt
here=$(dirname "$0")
# shellcheck source=lib/deps/apt.sh
. "$here/../../lib/deps/apt.sh"

# depends PACKAGE PATTERN: names of what it depends on
depends()
{
	private_apt apt-cache -o Dir::State::status=/dev/null depends "$1" |
		sed -n "s/^ *Depends: \($2\)$/\1/p"
}

old()
{
	[ -f "$folder/version" ] || die "$suite: $*, and no kernel was fetched before"
	echo "vm: $suite: $*; $(cat "$folder/version") is used" >&2
	exit 0
}

[ -z "$(find "$folder/checked" -mmin -720 2>/dev/null)" ] || [ ! -f "$folder/version" ] || exit 0
rm -rf "$apt"
write_parts deb "$suite" || old "apt has no Debian entry to start from"
private_apt apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
	-o Acquire::https::Timeout=20 update >"$folder/log" 2>&1 || old "the package lists cannot be fetched"
image=$(depends linux-image-cloud-amd64 'linux-image-[0-9].*')
[ -n "$image" ] || old "no kernel in the package lists"
[ "$(cat "$folder/version" 2>/dev/null)" != "$image" ] || {
	touch "$folder/checked"
	rm -rf "$apt"
	exit 0
}

# from 7.2 on the image package is empty and the parts lie in packages of their own
parts_of=$(depends "$image" 'linux-\(binary\|modules\)-.*')
new=$folder/new
rm -rf "$new"
mkdir -p "$new/root"
(
	cd "$new"
	# shellcheck disable=SC2086 # a list
	private_apt apt-get download ${parts_of:-$image} >>"$folder/log" 2>&1
) || old "$image cannot be downloaded"
for package in "$new"/*.deb; do
	dpkg -x "$package" "$new/root"
done
(cd "$new" && sha256sum -- *.deb) >"$new/sha256"

rm -rf "${folder:?}/vmlinuz" "${folder:?}/lib" "${folder:?}/version"
find "$new/root" -name 'vmlinuz*' -type f -exec cp {} "$folder/vmlinuz" \;
mkdir -p "$folder/lib/modules"
# with /usr or without, and from 7.2 on both
find "$new/root" -type d -path '*/lib/modules' -exec cp -a {}/. "$folder/lib/modules" \;
find "$folder/lib/modules" -name '*.ko.xz' -exec xz -d {} +
find "$folder/lib/modules" -name '*.ko.zst' -exec zstd -q -d --rm {} +
depmod -b "$folder" "$(ls "$folder/lib/modules")" 2>>"$folder/log" # misses modules.order
mv "$new/sha256" "$folder/sha256"
rm -rf "$new" "$apt"
echo "$image" >"$folder/version"
touch "$folder/checked"
