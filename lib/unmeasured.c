/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unmeasured.h"

#include "diag.h"

bool
unmeasured_explain(const char *name, uint64_t files, uint64_t hidden, uint64_t elsewhere)
{
	if (hidden)
		diag_error("%s: %llu of %llu files cannot be measured: the kernel tells it only "
			   "to who owns or may write a file, or has CAP_FOWNER (such as root)",
		    name, (unsigned long long)hidden, (unsigned long long)files);
	if (elsewhere)
		diag_error("%s: %llu of %llu files are not kept in the page cache (huge pages, "
			   "DAX, ZFS, sysfs)",
		    name, (unsigned long long)elsewhere, (unsigned long long)files);
	return hidden || elsewhere;
}
