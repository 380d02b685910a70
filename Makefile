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

WERROR =
WARNINGS = -Wall -Wextra -Wformat=2 -Wmissing-prototypes -Wshadow $(WERROR)
CPPFLAGS = -D_GNU_SOURCE -DHOTSET_VERSION='"$(VERSION)"' -Ilib -Ibpf -Ibuild/obj \
	-isystem build/deps/include -idirafter build/deps/kernel-include
CFLAGS = -std=gnu11 -Os -g -fno-pie -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables $(WARNINGS)
LDFLAGS = -static -no-pie -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,norelro \
	-Wl,--wrap=bpf_btf_get_next_id # lib/vmlinux.c
LDLIBS = -lbpf -lelf -lz

TOOLS = $(patsubst cmd/%.c,build/%,$(wildcard cmd/*.c))
LIB_OBJECTS = $(patsubst %.c,build/obj/%.o,$(wildcard lib/*.c))
OBJECTS = $(LIB_OBJECTS) $(patsubst %.c,build/obj/%.o,$(wildcard cmd/*.c))

all: $(TOOLS) ## build the five tools into build/
	$(give_back)

# What root makes by sudo must not stand in the way of a later make without.
give_back = @[ -z "$$SUDO_UID" ] || [ "$$(id -u)" != 0 ] || chown -R "$$SUDO_UID:$$SUDO_GID" build

# What is done is named in a word; V=1 shows the commands.
V =
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $@;)

# Every tool links the same archives: the linker takes only what the tool refers to,
# so that only hitratio carries libbpf, libelf and libz.
$(TOOLS): build/%: build/obj/cmd/%.o build/obj/libhotset.a
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) -Lbuild/deps/lib $^ $(LDLIBS) -o $@.debug && \
	$(STRIP) -o $@ $@.debug

build/obj/libhotset.a: $(LIB_OBJECTS)
	$(call say,AR)rm -f $@ && $(AR) rcs $@ $^

build/obj/%.o: %.c Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# The binary carries its BPF objects packed.
PACKED = $(patsubst bpf/%.bpf.c,build/obj/%.bpf.o.gz,$(wildcard bpf/*.bpf.c))

build/obj/lib/programs.o: $(PACKED)
build/obj/lib/programs.o: CPPFLAGS += -DHOTSET_OBJECTS='"build/obj"'

.SECONDARY: $(PACKED:.gz=)
%.gz: %
	$(call say,GZIP)gzip -9 -n -c $< > $@.new && mv $@.new $@

build/obj/%.bpf.o: bpf/%.bpf.c Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(call say,BPF)$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -O2 -g -Wall -Wextra -Wno-unused-parameter $(WERROR) \
	    -nostdlibinc -Ibpf -isystem build/deps/include -isystem build/deps/kernel-include \
	    -MMD -MP -MT $@ -MF $(@:.o=.d) -c $< -o $@.clang && \
	llvm-strip -g $@.clang && $(call drop_lines,$@.clang) && \
	$(BPFTOOL) gen object $@ $@.clang # drops relocations that nobody needs

# The numbers and text of source lines are half of a BPF object, and are for the verifier's
# messages alone: .BTF.ext shall have none (a 32-bit length in its header, struct btf_ext_header).
drop_lines = llvm-objcopy --dump-section .BTF.ext=$1.ext $1 && \
	printf '\0\0\0\0' | dd of=$1.ext bs=1 seek=20 conv=notrunc status=none && \
	llvm-objcopy --update-section .BTF.ext=$1.ext $1 && rm $1.ext

build/deps/stamp:
	@echo "the build needs its dependencies: run 'sudo make deps' first" >&2; exit 1

deps: ## install what the build needs (root), and build libbpf, libelf and zlib
	@CC='$(CC)' AR='$(AR)' sh lib/deps/install.sh

install: all ## install tools and man pages: DESTDIR=, PREFIX=/usr/local
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(TOOLS) $(DESTDIR)$(BINDIR)
	install -m 644 $(wildcard cmd/*.1) $(DESTDIR)$(MANDIR)/man1

demo: all ## show the tools at work on this machine (root)
	@tests/demo

# --- tests

PROVEFLAGS =
HELPERS = $(patsubst tests/helper/%.c,build/tests/%,$(wildcard tests/helper/*.c))
UNITS = $(patsubst tests/unit/%.c,build/tests/unit/%,$(wildcard tests/unit/*.c))
TRUTH = $(wildcard tests/truth/*.c tests/truth/cases/*.c)
TEST_CFLAGS = -std=gnu11 -O1 -g $(WARNINGS)

test: all test-programs ## run all tests (without root: those that can do without)
	prove $(PROVEFLAGS) $(UNITS) tests/*.t

test-programs: $(HELPERS) $(UNITS) build/tests/truth
	$(give_back)

$(HELPERS): build/tests/%: tests/helper/%.c Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(TEST_CFLAGS) -static $< $(HELPER_LIBS) -o $@

build/tests/overhead: HELPER_LIBS = -Lbuild/deps/lib $(LDLIBS)

build/tests/truth: $(TRUTH) $(wildcard tests/truth/*.h) Makefile build/deps/stamp
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) -Itests/truth $(TEST_CFLAGS) -static $(TRUTH) -o $@

# Unit tests run the library under glibc's sanitizers.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all
SANE = gcc -D_GNU_SOURCE -DHOTSET_VERSION='"$(VERSION)"' -Ilib -Ibpf -Itests/unit $(TEST_CFLAGS) $(SANITIZE)
SANE_OBJECTS = $(patsubst lib/%.c,build/tests/lib/%.o,$(filter-out $(BPF_SIDE),$(wildcard lib/*.c)))
BPF_SIDE = $(patsubst %,lib/%.c,hooks look permits probe programs reason sets vmlinux) # need libbpf

build/tests/lib/%.o: lib/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)$(SANE) -MMD -MP -c $< -o $@

build/tests/libhotset.a: $(SANE_OBJECTS)
	$(call say,AR)rm -f $@ && ar rcs $@ $^

$(UNITS): build/tests/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) build/tests/libhotset.a
	@mkdir -p $(@D)
	$(call say,CC)$(SANE) $< build/tests/libhotset.a -o $@ -lpthread

FULL =
VM_CACHE = build/vm/kernels

test-vm: all test-programs ## the same counts on other kernels, under QEMU (FULL=1: every cell)
	@trap '$(give_back:@%=%)' EXIT; FULL='$(FULL)' VM_CACHE='$(VM_CACHE)' tests/vm/run

test-mutants: all test-programs ## break each rule of the ledger: do the tests notice? (root)
	tests/mutate

bench: all test-programs ## measure against the peers: ratios, from paired runs
	@for bench in tests/bench/*; do echo "== $$bench"; $$bench || exit 1; done

# --- quality

SHELL_SOURCES = $(wildcard tests/*.t tests/*.sh tests/bench/* tests/demo lib/deps/*.sh check/*/*.sh) \
	$(addprefix tests/vm/,fetch.sh boot.sh init job tools peers guest run accident accident.job) tests/mutate .ci/run
C_SOURCES = $(wildcard cmd/*.c lib/*.[ch] bpf/*.[ch] tests/helper/*.c tests/truth/*.[ch] tests/truth/cases/*.c tests/unit/*.[ch])

lint: $(PACKED) ## shellcheck, mandoc, clang-format and gcc's analyzer
	@echo '  shellcheck'; shellcheck -x -P SCRIPTDIR $(SHELL_SOURCES)
	@echo '  mandoc'; mandoc -Tlint -W warning cmd/*.1
	@echo '  clang-format'; clang-format --dry-run -Werror $(C_SOURCES)
	@echo '  gcc -fanalyzer'; for source in cmd/*.c lib/*.c; do \
	    $(CC) $(CPPFLAGS) -DHOTSET_OBJECTS='"build/obj"' $(CFLAGS) -Werror -fanalyzer -c $$source -o /dev/null || exit 1; \
	done

clean: ## remove what the build made (dependencies and kernels stay)
	rm -rf build/obj build/tests $(TOOLS) $(TOOLS:=.debug)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

-include $(OBJECTS:.o=.d) $(SANE_OBJECTS:.o=.d) $(PACKED:.o.gz=.d)

.PHONY: all deps install demo test test-vm test-mutants test-programs bench lint clean help
.DELETE_ON_ERROR:
