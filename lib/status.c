/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "status.h"

const char *
status_name(enum status status)
{
	switch (status) {
	case STATUS_DONE:
		return "OK";
	case STATUS_PART:
		return "WARNING";
	case STATUS_FAILED:
		return "CRITICAL";
	case STATUS_UNKNOWN:
		break;
	}
	return "UNKNOWN";
}

enum status
status_worse(enum status a, enum status b)
{
	if (a == STATUS_FAILED || b == STATUS_FAILED)
		return STATUS_FAILED;
	return a > b ? a : b;
}
