#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes a Debian 12 machine ready to build, test and lint hotset:
#   1. installs the packages of lib/deps/packages that are missing, and promtool,
#   2. fetches the sources pinned in lib/deps/sources (fetch.sh),
#   3. compiles them against musl into build/deps (build.mk).
# It is silent, and quick, when there is nothing to do.
#
# Variables:
#   CC, AR          the compiler for musl (musl-gcc) and its ar (ar)
#   DEPS_CFLAGS     more flags for CC
#   HOST            multiarch name that CC compiles for (asks CC)
#   DEPS            where the result goes (build/deps)
#   LIBBPF_SRC, ELFUTILS_SRC, ZLIB_SRC
#                   an unpacked source tree to use instead of a download

set -eu
export LC_ALL=C

die()
{
	echo "deps: $*" >&2
	exit 1
}

install_packages()
{
	# Elsewhere than on Debian, the tools come from whoever runs this.
	command -v dpkg-query >/dev/null || return 0

	packages=$(sed 's/#.*//' lib/deps/packages | tr -s '[:space:]' ' ')
	# shellcheck disable=SC2086 # it is a list
	missing=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
		$packages 2>/dev/null | awk -v packages="$packages" '
		$1 == "installed" { have[$2] }
		END {
			n = split(packages, want, " ")
			for (i = 1; i <= n; i++)
				if (!(want[i] in have))
					printf " %s", want[i]
		}')
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] ||
		die "packages are missing; run 'sudo make deps' to install:$missing"

	echo "deps: installing$missing"
	# A service that a package starts must not inherit the lock (9).
	export DEBIAN_FRONTEND=noninteractive
	for step in update "install -y --no-install-recommends$missing"; do
		# shellcheck disable=SC2086 # it is a list
		run_apt $step || {
			cat "$log" >&2
			die "apt-get ${step%% *} failed (see above)"
		}
	done
}

run_apt()
{
	apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" \
		>"$log" 2>&1 </dev/null 9>&-
}

# Prometheus' own checker is wanted for the tests, its server and what that brings
# along is not: the package is unpacked beside the build, not installed.
unpack_promtool()
{
	[ ! -x build/tools/promtool ] || return 0
	command -v dpkg-deb >/dev/null || return 0

	echo "deps: fetching promtool"
	rm -rf build/tools.new
	mkdir build/tools.new
	(
		cd build/tools.new
		log=$PWD/log
		run_apt download prometheus ||
			{ run_apt update && run_apt download prometheus; } ||
			{ cat "$log" >&2; die "prometheus cannot be downloaded (see above)"; }
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xf - ./usr/bin/promtool
		mv usr/bin/promtool .
		rm -rf usr prometheus_*.deb log
	)
	rm -rf build/tools
	mv build/tools.new build/tools
}

# The source tree the user gave for library $1, if any.
given()
{
	case $1 in
	libbpf)		echo "$LIBBPF_SRC" ;;
	elfutils)	echo "$ELFUTILS_SRC" ;;
	zlib)		echo "$ZLIB_SRC" ;;
	esac
}

# check_tree VARIABLE FOLDER FILE: stops early when it is the wrong folder.
check_tree()
{
	[ -z "$2" ] || [ -f "$2/$3" ] || die "$1: no $3 in $2"
}

# All that the libraries depend on; when it changes they are built anew.
# (Not on what is in a tree the user gave: remove build/deps after editing it.)
fingerprint()
{
	{
		cat lib/deps/sources lib/deps/build.mk lib/deps/libelf/config.h
		echo "$CC:$AR:$HOST:${DEPS_CFLAGS:-}"
		echo "$LIBBPF_SRC:$ELFUTILS_SRC:$ZLIB_SRC"
		$CC --version
	} | sha256sum
}

# Puts the source tree of library $1 at $2, from the tarball $3 unless given.
unpack()
{
	tree=$(given "$1")
	if [ -n "$tree" ]; then
		ln -s "$tree" "$2"
	else
		mkdir "$2"
		tar -xf "$3" -C "$2" --strip-components=1 ||
			die "$3: cannot be unpacked"
	fi
}

# Everything happens in $DEPS.new, so that an interrupted run leaves nothing
# half-made. The stamp is the last thing to be written.
build_libraries()
{
	new=$DEPS.new
	rm -rf "$new"
	mkdir -p "$new/src" build/sources

	wanted=
	for name in libbpf elfutils zlib; do
		[ -n "$(given $name)" ] || wanted="$wanted $name"
	done
	# shellcheck disable=SC2086 # it is a list
	sh lib/deps/fetch.sh build/sources $wanted

	while read -r name _ tarball _; do
		case $name in
		'' | '#'*)	continue ;;
		esac
		unpack "$name" "$new/src/$name" "build/sources/$tarball"
	done <lib/deps/sources

	echo "deps: compiling libbpf, libelf and zlib into $DEPS"
	# The flags of a make that runs this are not meant for this one.
	MAKEFLAGS='' make -s -j"$(nproc)" -f lib/deps/build.mk OUT="$new" \
		CC="$CC" AR="$AR" DEPS_CFLAGS="${DEPS_CFLAGS:-}" \
		KERNEL_INCLUDE="/usr/include/$HOST /usr/$HOST/include /usr/include" ||
		die "libbpf, libelf and zlib did not compile (see above)"

	rm -rf "$DEPS" "$new/src" "$new/obj"
	mv "$new" "$DEPS"
	echo "$1" >"$DEPS/stamp.new"
	mv "$DEPS/stamp.new" "$DEPS/stamp"
}

# What 'sudo make deps' makes must not stand in the way of a later 'make'.
give_back()
{
	[ "$(id -u)" != 0 ] || [ -z "${SUDO_UID:-}" ] ||
		chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" build
}

LIBBPF_SRC=${LIBBPF_SRC:+$(realpath -m "$LIBBPF_SRC")}
ELFUTILS_SRC=${ELFUTILS_SRC:+$(realpath -m "$ELFUTILS_SRC")}
ZLIB_SRC=${ZLIB_SRC:+$(realpath -m "$ZLIB_SRC")}
cd "$(dirname "$0")/../.."

check_tree LIBBPF_SRC "$LIBBPF_SRC" src/libbpf.c
check_tree ELFUTILS_SRC "$ELFUTILS_SRC" libelf/libelf.h
check_tree ZLIB_SRC "$ZLIB_SRC" zlib.h

CC=${CC:-musl-gcc}
AR=${AR:-ar}
DEPS=${DEPS:-build/deps}
log=build/apt.log

mkdir -p build
trap give_back EXIT
# Two runs at a time would build into the same folder.
exec 9>build/deps.lock
flock 9

install_packages
unpack_promtool
HOST=${HOST:-$($CC -print-multiarch)}
print=$(fingerprint)
[ "$(cat "$DEPS/stamp" 2>/dev/null)" = "$print" ] || build_libraries "$print"
