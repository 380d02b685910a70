/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workers.h"

#include <unistd.h>

#include "device.h"

#define LEAST   8
#define REMOTE  32
#define SEEKING 2

/*
 * Each worker has up to a bundle of small files on the way. A network answers late; the head of a
 * disk has one place to be, and a bundle is enough to sort; all else was measured: of two to
 * sixteen, eight were fastest on two processors.
 */
unsigned
workers_for(const char *path)
{
	struct device device = device_under(path);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (device.kind == DEVICE_NETWORK)
		return REMOTE;
	if (device.seeks)
		return SEEKING;
	return processors > LEAST / 2 ? (unsigned)processors * 2 : LEAST;
}
