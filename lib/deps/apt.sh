# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# apt with lists of our own, made from the system's, whose configuration stays as it
# is. To be sourced. $apt is a folder to work in, and die() ends the script.

: "${apt:?}"
parts=$apt/parts

# write_parts TYPE [SUITE]: the system's Debian entries as TYPE (deb or deb-src) ones; with
# SUITE that one in place of bookworm.
write_parts()
{
	mkdir -p "$parts" "$apt/lists/partial" "$apt/cache/archives/partial"
	eval "$(apt-config shell list Dir::Etc::sourcelist/f \
		dir Dir::Etc::sourceparts/d)"

	# shellcheck disable=SC2154 # apt-config sets dir and list
	find "$dir" -name '*.sources' -exec awk -v type="$1" -v wanted="${2-}" '
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
			if (wanted == "" && suite[i] ~ /^bookworm(-updates|-security)?$/)
				suites = suites " " suite[i]
			else if (suite[i] == "bookworm")
				suites = " " wanted
		if (suites == "" || field["enabled"] ~ /no/ ||
		    (field["components"] " ") !~ /[ \t]main[ \t]/)
			next
		print "Types: " type "\nURIs:" field["uris"]
		print "Suites:" suites "\nComponents: main"
		if ("signed-by" in field)
			print "Signed-By:" field["signed-by"]
		print ""
	}' {} + >"$parts/debian.sources"

	# shellcheck disable=SC2154
	find "$list" "$dir" -name '*.list' -exec awk -v type="$1" -v wanted="${2-}" '
	{
		sub(/#.*/, "")
		options = ""
		if (match($0, /\[[^]]*\]/)) {
			options = substr($0, RSTART, RLENGTH) " "
			$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
		}
	}
	$1 ~ /^deb(-src)?$/ && $2 !~ /^cdrom:/ && / main( |$)/ &&
	(wanted == "" ? $3 ~ /^bookworm(-updates|-security)?$/ : $3 == "bookworm") {
		print type " " options $2, wanted == "" ? $3 : wanted, "main"
	}' {} + >"$parts/debian.list" 2>/dev/null || :

	[ -s "$parts/debian.sources" ] || [ -s "$parts/debian.list" ]
}

# private_apt TOOL [ARGUMENT...]: apt-get or apt-cache with these lists. As root, apt
# would fetch as a user of its own, who cannot write here.
private_apt()
{
	tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$parts" \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User=root "$@" </dev/null
}
