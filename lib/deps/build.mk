# SPDX-License-Identifier: GPL-2.0-or-later

# Compiles zlib, libelf and libbpf into static libraries, straight from their
# source trees, which are not written to. install.sh calls it and sets:
#   OUT             folder that has src/zlib, src/elfutils, src/libbpf and
#                   gets lib/, include/ and kernel-include/
#   KERNEL_INCLUDE  folders that may hold linux/, asm/ and asm-generic/
#   CC, AR          the compiler for musl, and its ar
#   DEPS_CFLAGS     more flags for CC

ZLIB = $(OUT)/src/zlib
ELFUTILS = $(OUT)/src/elfutils
LIBBPF = $(OUT)/src/libbpf

# One section per function lets the linker's --gc-sections leave out whatever
# a program does not call, which is most of these libraries.
FLAGS = -Os -g0 -fno-pie -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(DEPS_CFLAGS)

# musl's compiler does not see the kernel's user headers. Their own folder,
# searched last, gives it those without any of glibc's beside them.
KERNEL = -idirafter $(OUT)/kernel-include

objects = $(patsubst $(1)/%.c,$(OUT)/obj/$(2)/%.o,$(wildcard $(1)/*.c))

LIBS = $(addprefix $(OUT)/lib/,libz.a libelf.a libbpf.a)

all: $(LIBS)

$(OUT)/lib/libz.a: $(call objects,$(ZLIB),z)
$(OUT)/lib/libelf.a: $(call objects,$(ELFUTILS)/libelf,elf)
$(OUT)/lib/libbpf.a: $(call objects,$(LIBBPF)/src,bpf)
$(LIBS):
	$(AR) rcs $@ $^

$(OUT)/obj/z/%.o: $(ZLIB)/%.c | headers
	$(CC) $(FLAGS) -DHAVE_UNISTD_H -DHAVE_HIDDEN -c -o $@ $<

$(OUT)/obj/elf/%.o: $(ELFUTILS)/libelf/%.c | headers
	$(CC) $(FLAGS) -DHAVE_CONFIG_H -Ilib/deps/libelf -I$(ELFUTILS)/lib \
		-I$(ELFUTILS)/libelf -I$(OUT)/include -c -o $@ $<

# libbpf brings the kernel headers it was written against. They come first.
$(OUT)/obj/bpf/%.o: $(LIBBPF)/src/%.c | headers
	$(CC) $(FLAGS) -I$(LIBBPF)/include -I$(LIBBPF)/include/uapi \
		-I$(OUT)/include $(KERNEL) -c -o $@ $<

# What the programs include: the libraries' own headers, the BPF headers of
# libbpf's kernel, and for the rest the kernel headers of this system.
headers:
	mkdir -p $(OUT)/lib $(OUT)/obj/z $(OUT)/obj/elf $(OUT)/obj/bpf \
		$(OUT)/include/bpf $(OUT)/include/linux $(OUT)/kernel-include
	cp $(ZLIB)/zlib.h $(ZLIB)/zconf.h $(OUT)/include
	cp $(ELFUTILS)/libelf/libelf.h $(ELFUTILS)/libelf/gelf.h $(OUT)/include
	cp $(filter-out %_internal.h,$(wildcard $(LIBBPF)/src/*bpf*.h)) \
		$(LIBBPF)/src/btf.h $(LIBBPF)/src/skel_internal.h \
		$(OUT)/include/bpf
	cp $(addprefix $(LIBBPF)/include/uapi/linux/,bpf.h bpf_common.h btf.h) \
		$(OUT)/include/linux
	for d in linux asm asm-generic; do \
		for i in $(KERNEL_INCLUDE); do \
			test ! -d $$i/$$d || break; \
		done; \
		ln -sfn $$i/$$d $(OUT)/kernel-include/$$d; \
	done
	test -e $(OUT)/kernel-include/asm/types.h
	test -e $(OUT)/kernel-include/linux/types.h

.PHONY: all headers
