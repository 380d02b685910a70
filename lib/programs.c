/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "programs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* PACKED(NAME): build/obj/NAME.bpf.o.gz, as name_packed up to name_packed_end. */
#define PACKED(name)                                                                               \
	__asm__(".section .rodata\n" #name "_packed:\n"                                            \
		".incbin \"" HOTSET_OBJECTS "/" #name ".bpf.o.gz\"\n" #name "_packed_end:\n"       \
		".previous\n");                                                                    \
	extern const unsigned char name##_packed[], name##_packed_end[]

PACKED(pagecache);
PACKED(pages);

static const struct {
	const char *name;
	const unsigned char *from, *end;
} packed[PROGRAMS] = {
	[PROGRAMS_FOLIOS] = { "pagecache", pagecache_packed, pagecache_packed_end },
	[PROGRAMS_PAGES] = { "pages", pages_packed, pages_packed_end },
};

/* gzip's last four bytes: the size unpacked, little endian */
static size_t
unpacked_size(const unsigned char *end)
{
	return (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 |
	    (size_t)end[-1] << 24;
}

static int
unpack(enum programs which, void *to, size_t size)
{
	z_stream stream = {
		.next_in = (unsigned char *)packed[which].from,
		.avail_in = (unsigned)(packed[which].end - packed[which].from),
		.next_out = to,
		.avail_out = (unsigned)size,
	};
	int result;

	if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) {
		errno = ENOMEM;
		return -1;
	}
	result = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (result != Z_STREAM_END) {
		errno = result == Z_MEM_ERROR ? ENOMEM : ENOEXEC;
		return -1;
	}
	return 0;
}

struct bpf_object *
programs_open(enum programs which)
{
	size_t size = unpacked_size(packed[which].end);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = packed[which].name);
	struct bpf_object *object = NULL;
	void *bytes = malloc(size);

	if (!bytes)
		return NULL;
	if (unpack(which, bytes, size) == 0)
		object = bpf_object__open_mem(bytes, size, &options); /* copies what it keeps */
	free(bytes);
	return object;
}
