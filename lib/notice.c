/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notice.h"

#include <errno.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "sysctl.h"

#define MOST_DEFAULT 8192 /* of Linux before 5.11 */

#define MOST_READS 16 /* at a time */

#define GONE    (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)
#define CHANGED (IN_CREATE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE)

#define EVENTS (CHANGED | GONE | IN_ONLYDIR | IN_EXCL_UNLINK)

void
notice_begin(struct notice *notice)
{
	*notice = (struct notice){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		.most = (size_t)sysctl_number("fs/inotify/max_user_watches", MOST_DEFAULT) / 2 };
}

void
notice_end(struct notice *notice)
{
	if (notice->fd >= 0)
		close(notice->fd);
	notice->fd = -1;
}

int
notice_watch(struct notice *notice, const char *path)
{
	int watch;

	if (notice->count >= notice->most || notice->fd < 0) {
		errno = notice->fd < 0 ? ENOSYS : ENOSPC;
		return -1;
	}
	watch = inotify_add_watch(notice->fd, path, EVENTS);
	/* a lower number is that of a folder which has one already, by another path */
	if (watch > notice->last) {
		notice->last = watch;
		notice->count++;
	}
	return watch;
}

void
notice_unwatch(struct notice *notice, int watch)
{
	inotify_rm_watch(notice->fd, watch); /* where the folder is gone, there is none any more */
	notice->count--;
}

static void
tell(const struct inotify_event *event,
    void (*happened)(enum notice_what what, int watch, const char *name, void *argument),
    void *argument)
{
	if (event->mask & IN_Q_OVERFLOW)
		happened(NOTICE_LOST, -1, NULL, argument);
	else if (event->mask & GONE)
		happened(NOTICE_GONE, event->wd, NULL, argument);
	else if (event->mask & CHANGED && event->len)
		happened(NOTICE_CHANGED, event->wd, event->name, argument);
}

void
notice_read(struct notice *notice,
    void (*happened)(enum notice_what what, int watch, const char *name, void *argument),
    void *argument)
{
	_Alignas(struct inotify_event) char buffer[65536];
	ssize_t n;

	/* what comes faster than it is read waits for the next time */
	for (int i = 0; i < MOST_READS; i++) {
		n = notice->fd < 0 ? 0 : read(notice->fd, buffer, sizeof buffer);
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (void *)(buffer + at);

			at += (ssize_t)sizeof *event + event->len;
			tell(event, happened, argument);
		}
		if (n <= 0)
			break;
	}
}
