/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_CHILD_H
#define HOTSET_CHILD_H

#include <sys/types.h>

/*
 * Commands as children. Each starts with the signal mask and dispositions that
 * we were started with. A command that cannot be run is reported on the child's
 * standard error, and its status is 127 (not found) or 126, as a shell's.
 */

/*
 * Forks a child that waits for child_release(*GO) and then becomes ARGV, looked
 * up in PATH. Its process id is settled before the command's first instruction.
 * Where *GO is closed instead, or we die, it ends without running the command.
 */
pid_t child_start(char *const argv[], int *go);

/* Lets the child run, and closes GO. -1 with EPIPE where it is gone already. */
int child_release(int go);

/*
 * A descriptor that is readable once the child has ended: for stop_sleep. -1 with
 * errno where the kernel has none (before Linux 5.3).
 */
int child_pidfd(pid_t pid);

/* 1 and *WAIT_STATUS where the child has ended, 0 where it runs, -1 with errno. */
int child_poll(pid_t pid, int *wait_status);

/* Waits until the child has ended, whatever else happens; 0, or -1 with errno. */
int child_wait(pid_t pid, int *wait_status);

/* The exit status that a shell would give: its own, or 128 + signal. */
int child_status(int wait_status);

/*
 * Ends a child, and its process group where it leads one: SIGTERM, after a grace of
 * a second SIGKILL. Waits for it, but no longer than another second: one stuck in
 * the kernel is left to init. Returns as child_poll.
 */
int child_end(pid_t pid, int *wait_status);

/*
 * Runs ARGV at once, in a process group of its own, with an empty standard input;
 * what it writes is read from *OUT and *ERR (its standard error). Where we die, it
 * is sent SIGTERM. Returns its process id, or -1 with errno.
 */
pid_t child_capture(char *const argv[], int *out, int *err);

/*
 * The path of the program NAME, to be freed: in the folder that our own binary lies
 * in, else in PATH. NULL with ENOENT where there is none that we may run.
 */
char *child_find(const char *name);

#endif
