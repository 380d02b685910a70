# SPDX-License-Identifier: GPL-2.0-or-later
# hotset: `make help` lists the targets. A new tool is cmd/x.c, cmd/x.1 and tests/x.t.

VERSION = 0.1.0
PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man

CROSS =
CC = $(if $(CROSS),$(CROSS)gcc,musl-gcc)
AR = $(CROSS)ar
STRIP = $(CROSS)strip
CLANG = clang
BPFTOOL = bpftool
BPF_ARCH = x86

# bpftool and mkfs lie where the PATH of a plain user does not look
export PATH := $(PATH):/usr/sbin:/sbin

WARNINGS = -Wall -Wextra -Wformat=2 -Wmissing-prototypes -Wshadow -Werror
CPPFLAGS = -D_GNU_SOURCE -DHOTSET_VERSION='"$(VERSION)"' -Ilib -Ibpf -Ibuild/obj \
	-isystem build/deps/include -idirafter build/deps/kernel-include
CFLAGS = -std=gnu11 -Os -g -fno-pie -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables $(WARNINGS)
LDFLAGS = -static -no-pie -Wl,--gc-sections -Wl,-z,noseparate-code
LDLIBS = -lbpf -lelf -lz

TOOLS = $(patsubst cmd/%.c,build/%,$(wildcard cmd/*.c))
LIB_OBJECTS = $(patsubst %.c,build/obj/%.o,$(wildcard lib/*.c))
OBJECTS = $(LIB_OBJECTS) $(patsubst %.c,build/obj/%.o,$(wildcard cmd/*.c))

all: $(TOOLS) ## build the five tools into build/

# Every tool links the same archives: the linker takes only what the tool refers to,
# so that only hitratio carries libbpf, libelf and libz.
$(TOOLS): build/%: build/obj/cmd/%.o build/obj/libhotset.a
	$(CC) $(CFLAGS) $(LDFLAGS) -Lbuild/deps/lib $^ $(LDLIBS) -o $@.debug
	$(STRIP) -o $@ $@.debug

build/obj/libhotset.a: $(LIB_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

build/obj/%.o: %.c Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

build/obj/lib/probe.o: build/obj/pagecache.skel.h

build/obj/pagecache.skel.h: build/obj/pagecache.bpf.o
	$(BPFTOOL) gen skeleton $< name pagecache > $@.new
	mv $@.new $@

build/obj/%.bpf.o: bpf/%.bpf.c Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror \
	    -nostdlibinc -Ibpf -isystem build/deps/include -isystem build/deps/kernel-include \
	    -MMD -MP -MT $@ -c $< -o $@
	llvm-strip -g $@

build/deps/stamp:
	@echo "the build needs its dependencies: run 'sudo make deps' first" >&2; exit 1

deps: ## install what the build needs (root), and build libbpf, libelf and zlib
	@CC='$(CC)' AR='$(AR)' sh lib/deps/install.sh

clean: ## remove what the build made (build/deps and caches stay)
	rm -rf build/obj $(TOOLS) $(TOOLS:=.debug)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

-include $(OBJECTS:.o=.d) build/obj/pagecache.bpf.d

.PHONY: all deps clean help
.DELETE_ON_ERROR:
