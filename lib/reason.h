/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_REASON_H
#define HOTSET_REASON_H

/* Why it cannot be done, and what would mend it; to begin with { 0 }. */
struct reason {
	char *text; /* allocated, since what would mend it stands at its end; NULL: none */
};

/* Has libbpf complain to us, and not on standard error. */
void reason_keep_complaints(void);

/* Sets it. */
void
reason_set(struct reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to its end. */
void
reason_add(struct reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For people. */
const char *reason_text(const struct reason *reason);

void reason_free(struct reason *reason);

/* Sets it where the kernel refused programs with ERROR, an errno; libbpf's latest complaint
 * tells more. */
void reason_refused(struct reason *reason, int error);

#endif
