#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hitratio --with-faults: the reads that it counts without, and the faults, added up.
. "$(dirname "$0")/lib.sh"

hitratio=$BUILD/hitratio
need_root
"$hitratio" 0.1 1 >"$TMP/out" 2>&1
[ $? -ne 3 ] || skip_all "nothing can be counted here: $(cat "$TMP/out")"

dd if=/dev/urandom of="$TMP/file" bs=4096 count=1000 2>/dev/null
sync "$TMP/file"
cat "$TMP/file" >/dev/null # cat itself is in memory now

# counts OPTION...: what cat does with the file, cold, as variables named after the fields
counts() {
	"$BUILD/tests/pages" --evict "$TMP/file"
	"$hitratio" "$@" -f kv -o "$TMP/kv" -- cat "$TMP/file" >/dev/null
	eval "$(cat "$TMP/kv")"
}

# shellcheck disable=SC2154 # the variables are hitratio's
{
	counts
	is "without: hits and misses are accesses" $((hits + misses)) "$accesses"
	read_accesses=$accesses read_misses=$misses
	is "without: misses are those of the file" "$misses" 1000
	counts --with-faults
	ok "cat takes faults" [ "$faults" -gt 0 ]
	is "with: accesses" "$accesses" $((read_accesses + faults))
	is "with: misses" "$misses" $((read_misses + fault_misses))
	is "with: hits" "$hits" $((accesses - misses))
	is "with: the ratio is theirs" "$ratio" "$(awk "BEGIN { printf \"%.2f\", 100 * $hits / $accesses }")"
}
done_testing
