/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_STATUS_H
#define HOTSET_STATUS_H

/*
 * The exit status of every tool: also what Nagios-style checks expect, and a
 * mistake on the command line never reads as CRITICAL.
 */
enum status {
	STATUS_DONE = 0,    /* done, and any condition asked for holds */
	STATUS_PART = 1,    /* done in part; ratio-check: WARNING */
	STATUS_FAILED = 2,  /* failed, or a condition does not hold; CRITICAL */
	STATUS_UNKNOWN = 3, /* cannot tell: usage, privilege, kernel, no data */
};

/* What monitoring calls it: "OK", "WARNING", "CRITICAL" or "UNKNOWN". */
const char *status_name(enum status status);

/* The worse of two: what does not hold weighs more than what cannot be told. */
enum status status_worse(enum status a, enum status b);

#endif
