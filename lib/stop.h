/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_STOP_H
#define HOTSET_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Ends long work cleanly: SIGINT, SIGTERM, SIGHUP, SIGPIPE and a time limit only leave a
 * mark, and interrupt sleeping system calls. The work looks at the mark, undoes its
 * side effects and prints what it has.
 */

/*
 * Catches these, and after TIMEOUT nanoseconds (0: never) SIGALRM. SIGHUP and SIGPIPE
 * stay ignored where they are. A file that grows beyond its limit (SIGXFSZ) is an error
 * of write(2), and children can be waited for whatever SIGCHLD was.
 */
void stop_catch(uint64_t timeout);

/*
 * From now on these signals do not stop anything, but are read from the descriptor returned:
 * a signalfd(2) that does not block. FD is one that was returned before, which is told of these
 * as well then, or -1. After stop_catch. -1 with errno.
 */
int stop_divert(int fd, const int *numbers, size_t count);

/* A reader that goes away is an error of write(2) from now on, and no stop (SIGPIPE). */
void stop_ignore_pipe(void);

/* In a child, before it runs another program: signals as they were before stop_catch
 * (a time limit does not pass on to a child). */
void stop_restore(void);

/*
 * For the very end: where that takes longer than PATIENCE nanoseconds, since a thread, or
 * the kernel on its behalf, hangs, the signal that asked to stop (SIGTERM where none did)
 * ends the process as if it were not caught.
 */
void stop_insist(uint64_t patience);

/* The signal that asked to stop, 0 where none did, SIGALRM for the time limit. */
int stop_asked(void);

/* Sleeps until DEADLINE on CLOCK_MONOTONIC (UINT64_MAX: for ever), a stop, or
 * FD (-1: none) is readable; true where the deadline passed first. */
bool stop_sleep(uint64_t deadline, int fd);

/* Now on CLOCK_MONOTONIC, in nanoseconds. */
uint64_t stop_now(void);

/* Exit status of work that was stopped: 128 + signal, or OTHERWISE. */
int stop_status(int otherwise);

#endif
