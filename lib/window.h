/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTSET_WINDOW_H
#define HOTSET_WINDOW_H

#include <stdint.h>
#include <sys/types.h>

/*
 * How many bytes one request for readahead really reads on DEVICE (a st_dev); the
 * rest is dropped in silence: since Linux 4.4 the device's read_ahead_kb, and since
 * 4.10 its largest request where that is more. LENGTH bytes are to be read in all.
 */
uint64_t window_size(dev_t device, uint64_t length);

#endif
