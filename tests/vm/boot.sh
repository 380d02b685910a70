#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# boot.sh KERNEL WORK FILE...
# Boots the kernel in folder KERNEL (fetch.sh) under QEMU, without KVM, with the FILEs (and
# folders) in the root folder, one of which is the shell script `job`, ext4, xfs, btrfs and
# overlay mounted below /fs. Where there is mksquashfs they find squashfs.img, of ten files of
# five pages. What the job says comes out as it says it. The verdict is the
# job's own last line, since QEMU's exit status says nothing: "-- qemu STATUS" follows, 124
# where the guest did not end in time. WORK is a scratch folder; the guest's console and
# what QEMU said stay there.
#
# Variables: VM_PARAMETERS (of the kernel), VM_MEMORY (MiB), VM_TIMEOUT (s), VM_COUNT (1: the
# guest's clocks count instructions, one a nanosecond)

set -eu
PATH=$PATH:/usr/sbin:/sbin
here=$(realpath "$(dirname "$0")")
kernel=$(realpath "$1")
work=$2
shift 2

# lay_out FILE...: the guest's root folder
lay_out()
{
	root=$work/root
	mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" \
		"$root/fs"
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp -R "$here/init" "$@" "$root/"
	chmod +x "$root/init"

	! command -v mksquashfs >"$work/mkfs.log" || squash

	# in the order in which they can be loaded; what is built in has no file
	version=$(ls "$kernel/lib/modules")
	for module in virtio_pci virtio_blk ext4 xfs btrfs overlay squashfs loop; do
		modprobe -d "$kernel" -S "$version" --show-depends "$module" 2>/dev/null || :
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/modules"
	while read -r path; do
		cp "$path" "$root/modules/"
		basename "$path"
	done <"$work/modules" >"$root/modules.order"

	# not packed: the guest would take longer to unpack it than QEMU to read it
	(cd "$root" && find . | cpio --quiet -o -H newc) >"$work/initrd"
	rm -rf "$root"
}

# squash: of files that end within one of its blocks
squash()
{
	mkdir "$work/plain"
	for i in 0 1 2 3 4 5 6 7 8 9; do
		head -c 20000 /dev/urandom >"$work/plain/$i"
	done
	mksquashfs "$work/plain" "$root/squashfs.img" -quiet -no-progress >>"$work/mkfs.log" 2>&1
}

# of ext4 small files lie in their inodes, which it reads and writes in another way
make_disks()
{
	for type in ext4 xfs btrfs; do
		truncate -s 512M "$work/$type.img"
		case $type in ext4) set -- -O inline_data ;; *) set -- ;; esac
		"mkfs.$type" -q "$@" "$work/$type.img"
	done >>"$work/mkfs.log" 2>&1
}

# Multi-threaded emulation crashes guests while probes attach; oops=panic ends the run at a
# guest's Oops.
start()
{
	set -- ${VM_COUNT:+-icount shift=0,sleep=off}
	for type in ext4 xfs btrfs; do
		set -- "$@" -drive "file=$work/$type.img,if=none,id=$type,format=raw,cache=unsafe" \
			-device "virtio-blk-pci,drive=$type"
	done
	timeout -k 5 "${VM_TIMEOUT:-600}" setpriv --pdeathsig KILL \
		qemu-system-x86_64 -nodefaults -no-user-config -display none \
		-machine q35 -accel tcg,thread=single -cpu max -smp 2 -m "${VM_MEMORY:-1024}" \
		-no-reboot -kernel "$kernel/vmlinuz" -initrd "$work/initrd" \
		-serial "file:$work/console" -serial stdio "$@" \
		-append "console=ttyS0 quiet oops=panic panic=-1 mitigations=off no5lvl nokaslr random.trust_cpu=on ${VM_PARAMETERS:-}" \
		</dev/null 2>"$work/qemu.log" &
	qemu=$!
}

rm -rf "$work"
mkdir -p "$work"
lay_out "$@"
make_disks
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null; rm -f "$work"/*.img' EXIT
trap 'exit 143' HUP INT TERM
start
status=0
wait "$qemu" || status=$?
qemu=
echo "-- qemu $status"
