/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tap.h"

static char root[] = "/tmp/hotset-device.XXXXXX";

/* Makes a file below the root, of a line, or a folder where there is none. */
static void
make(const char *name, const char *line)
{
	char path[256];
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", root, name);
	if (!line) {
		mkdir(path, 0755);
		return;
	}
	stream = fopen(path, "w");
	if (!stream || fprintf(stream, "%s\n", line) < 0 || fclose(stream) != 0)
		perror(path);
}

static void
make_link(const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", root, name);
	if (symlink(target, path) < 0)
		perror(path);
}

/* A disk called NAME, and its one partition, as sysfs has them. */
static void
make_disk(const char *name, const char *disk, const char *partition)
{
	char path[256];

	snprintf(path, sizeof path, "sys/devices/%s", name);
	make(path, NULL);
	snprintf(path, sizeof path, "sys/devices/%s/queue", name);
	make(path, NULL);
	snprintf(path, sizeof path, "sys/devices/%s/part", name);
	make(path, NULL);
	snprintf(path, sizeof path, "sys/devices/%s/queue/rotational", name);
	make(path, "1");
	snprintf(path, sizeof path, "sys/devices/%s/queue/read_ahead_kb", name);
	make(path, "64");
	snprintf(path, sizeof path, "sys/devices/%s/queue/max_sectors_kb", name);
	make(path, "1280");
	snprintf(path, sizeof path, "../../devices/%s", name);
	make_link(disk, path);
	snprintf(path, sizeof path, "../../devices/%s/part", name);
	make_link(partition, path);
}

int
main(void)
{
	struct device device;
	char text[8], command[64];

	if (!mkdtemp(root))
		return 1;
	make("sys", NULL);
	make("sys/devices", NULL);
	make("sys/dev", NULL);
	make("sys/dev/block", NULL);
	make_disk("sda", "sys/dev/block/8:0", "sys/dev/block/8:1");
	make_disk("vda", "sys/dev/block/253:0", "sys/dev/block/253:1");

	device_look(root, makedev(8, 0), &device);
	ok(device.kind == DEVICE_DISK && device.seeks, "a disk that rotates");
	ok(device.ahead == 64 << 10, "its readahead");
	ok(device.call == 1280 << 10, "one call brings in as much as a request");
	device_look(root, makedev(8, 1), &device);
	ok(device.kind == DEVICE_DISK && device.seeks && device.ahead == 64 << 10, "its partition");
	device_look(root, makedev(253, 0), &device);
	ok(device.kind == DEVICE_DISK && !device.seeks, "a virtual disk only says so");

	make("sys/devices/sda/queue/read_ahead_kb", "4096");
	device_look(root, makedev(8, 0), &device);
	ok(device.ahead == 4096 << 10 && device.call == 4096 << 10,
	    "one call brings in as much as the readahead");
	make("sys/devices/sda/queue/read_ahead_kb", "x");
	device_look(root, makedev(8, 0), &device);
	ok(device.kind == DEVICE_UNKNOWN && device.ahead == 128 << 10 && device.call == 128 << 10,
	    "rubbish is as good as nothing");
	device_look(root, makedev(0, 45), &device);
	ok(device.kind == DEVICE_UNKNOWN && !device.seeks && device.call == 128 << 10,
	    "what is no disk");

	ok(device_says(root, makedev(8, 1), "rotational", text, sizeof text) && !strcmp(text, "1"),
	    "what it says, without the end of the line");
	ok(device_says(root, makedev(8, 0), "max_sectors_kb", text, 3) && !strcmp(text, "12"),
	    "as much as there is room for");
	ok(!device_says(root, makedev(8, 0), "dax", text, sizeof text), "nothing");

	snprintf(command, sizeof command, "rm -rf '%s'", root);
	if (system(command) != 0)
		perror(root);
	return tap_done();
}
