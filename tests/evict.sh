# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the tests of warm --evict share, after lib.sh: files whose pages are known, processes that use
# them, a folder to work in.
# shellcheck disable=SC2034,SC2154 # some variables are for the tests, or of lib.sh

# shellcheck source=tests/pages.sh
. "$(dirname "$0")/pages.sh"
# shellcheck source=tests/holder.sh
. "$(dirname "$0")/holder.sh"
cp "$BUILD/warm" "$TMP" # where any user finds it
warm=$TMP/warm
mkdir "$TMP/w"
chmod 777 "$TMP/w"
cd "$TMP/w" || exit 1
[ "$(id -u)" -eq 0 ] && root=1 || root=

# dirty NAME PAGES [BYTES]: makes a file that is not on disk yet, of what copy begins with. A
# file that is truncated for it would be written back as it is closed (ext4). $again does this
# once more
dirty() {
	again="dirty $*"
	rm -f "$1"
	head -c $(($2 * page + ${3:-0})) copy >"$1"
}

# figures: files size already evicted resident skipped failed, the exit status, and what stayed
figures() {
	figures_stayed=
	for figures_reason in mapped locked dirty tmpfs edge unknown; do
		figures_bytes=$(value ${figures_reason}_bytes)
		[ "${figures_bytes:-0}" = 0 ] ||
			figures_stayed="$figures_stayed $figures_reason=$figures_bytes"
	done
	echo "$(value files) $(value size_bytes) $(value already_bytes) $(value evicted_bytes)" \
		"$(value resident_bytes) $(value skipped_bytes) $(value skipped_files)" \
		"$(value failed_files) $status$figures_stayed"
}

# disk TYPE OPTIONS: on_disk FILE, which the test has, with a file on a new file system of that type
disk() {
	command -v "mkfs.$1" >/dev/null || {
		skip "$1" "needs mkfs.$1"
		return
	}
	truncate -s 320M "$1.img"
	# shellcheck disable=SC2086 # words
	if "mkfs.$1" -q $2 "$1.img" >mkfs.out 2>&1 && mounted "$1" -o loop "$1.img"; then
		on_disk "$1/file"
	else
		skip "$1" "$(cat mkfs.out mount.err)"
	fi
}
