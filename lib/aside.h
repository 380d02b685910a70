/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_ASIDE_H
#define HOTSET_ASIDE_H

#include <stdbool.h>

/*
 * Runs WORK in a thread of its own, as it may hang in the kernel: a file system whose server is
 * gone does not even let a name be looked up. Returns whether it is done; if not, there is a
 * stop (stop_asked), and it may still be at work: ARGUMENT must stay until the process ends.
 */
bool aside_run(void (*work)(void *argument), void *argument);

/* As aside_run; meanwhile BREATHE is called, with a pointer of its own, each tenth of a second at
 * least: false is as good as a stop. */
bool aside_run_with(void (*work)(void *argument), void *argument, bool (*breathe)(void *argument),
    void *breathe_argument);

#endif
