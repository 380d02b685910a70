# SPDX-License-Identifier: GPL-2.0-or-later
# One cell's TAP becomes rows of the report and one TAP line that sums it up, followed by
# what is wrong. Variables: name, version, gate, tier, type, status (of what printed it),
# report (a file).
#
# Where a workload is right and names a count beside the truth, it has a bound only. STATUS
# is 1 where one is wrong.
BEGIN {
	FS = "\n"
	OFS = "\t"
	# without a file system it is about the tier alone; the other tools have none
	where = name ", " tier (tier == "tools" ? "" : " tier") (type == "-" ? "" : ", " type)
}

function row(workload, truth, measured, verdict) {
	print name, version, gate, tier, type, workload, truth, measured, verdict >>report
	number[verdict]++
}

# A line of another guest may come between what is written at once and the rest.
function note(text) {
	if (length(notes) + length(text) < 3000)
		notes = notes "# " text "\n"
	else
		cut++
}

/^(not )?ok [0-9]+ - / {
	tests++
	right = /^ok/
	sub(/^(not )?ok [0-9]+ - /, "")
	if (match($0, / # SKIP /)) {
		row(substr($0, 1, RSTART - 1), "-", substr($0, RSTART + 8), "skipped")
		note((type == "-" ? tier : type) ": " $0)
		next
	}
	colon = match($0, /: [0-9]+ hits, /) ? RSTART : index($0, ": ")
	workload = substr($0, 1, colon - 1)
	truth = measured = substr($0, colon + 2)
	counted = match(truth, /,? (but )?counted /)
	if (counted) {
		measured = substr(truth, RSTART + RLENGTH)
		truth = substr(truth, 1, RSTART - 1)
	} else if (truth !~ /^[0-9]+ hits/)
		truth = "-"
	row(workload, truth, measured, !right ? "wrong" : counted ? "bounded" : "exact")
	if (!right)
		note("  " $0)
	next
}

/^1\.\.[0-9]+$/ { planned = substr($0, 4) + 0; next }
NF && !/^#/ { said = $0 }

END {
	sum = number["exact"] + 0 " exact"
	if (number["bounded"])
		sum = sum ", " number["bounded"] " within their bounds"
	if (number["skipped"])
		sum = sum ", " number["skipped"] " skipped"
	if (number["wrong"])
		sum = sum ", " number["wrong"] " wrong"
	if (status != (number["wrong"] > 0) || !tests || tests != planned) {
		row("-", "-", "ended with " status " after " tests + 0 " workloads: " said, "died")
		sum = sum "; ended with " status " after " tests + 0 " workloads: " said
	}
	good = !number["wrong"] && !number["died"]
	todo = !good && gate != "gate" ? " # TODO this kernel is reported only" : ""
	print (good ? "ok" : "not ok") " - " where ": " sum todo
	printf "%s%s", notes, cut ? "# and " cut " more: see the report\n" : ""
}
