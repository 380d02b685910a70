/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "minimum.h"

#include "diag.h"

enum status
minimum_check(const char *name, const char *is, double minimum, bool known, uint64_t resident,
    uint64_t whole)
{
	double percent;

	if (minimum < 0 || (known && whole == 0 && minimum == 0))
		return STATUS_DONE;
	if (known && whole == 0) {
		diag_error("%s: there is not a byte of which %.4g%% could be in memory", name,
		    minimum);
		return STATUS_UNKNOWN;
	}
	if (!known) {
		diag_error("%s: whether %.4g%% %s in memory cannot be told", name, minimum, is);
		return STATUS_UNKNOWN;
	}
	percent = 100.0 * (double)resident / (double)whole;
	if (percent >= minimum)
		return STATUS_DONE;
	diag_error("%s: %.2f%% %s in memory, --min asks for %.4g%%", name, percent, is, minimum);
	return STATUS_FAILED;
}
