#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# boot.sh KERNEL WORK JOB [FILE...]
# Boots the kernel in folder KERNEL (fetch.sh) under QEMU, without KVM, with the shell
# script JOB and the FILEs in the root folder, and ext4, xfs, btrfs and overlay mounted
# below /fs. What the job says comes out here; its last line is the guest's own verdict,
# since QEMU's exit status says nothing. WORK is a scratch folder.

set -eu
PATH=$PATH:/usr/sbin:/sbin
here=$(realpath "$(dirname "$0")")
kernel=$(realpath "$1")
work=$2
job=$3
shift 3

version=$(ls "$kernel/lib/modules")
rm -rf "$work"
mkdir -p "$work/root/bin" "$work/root/modules"
mkdir "$work/root/proc" "$work/root/sys" "$work/root/dev" "$work/root/tmp" "$work/root/fs"
cp "$(command -v busybox)" "$work/root/bin/busybox"
cp "$here/init" "$work/root/init"
cp "$job" "$work/root/job"
chmod +x "$work/root/init"
for file; do
	cp "$file" "$work/root/"
done

# in the order in which they can be loaded; what is built in has no file
for module in virtio_pci virtio_blk ext4 xfs btrfs overlay; do
	modprobe -d "$kernel" -S "$version" --show-depends "$module" 2>/dev/null || :
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/modules"
while read -r path; do
	cp "$path" "$work/root/modules/"
	basename "$path"
done <"$work/modules" >"$work/root/modules.order"
(cd "$work/root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"

drives=
for type in ext4 xfs btrfs; do
	truncate -s 512M "$work/$type.img"
	case $type in
	ext4) mkfs.ext4 -q "$work/$type.img" ;;
	*) "mkfs.$type" -q "$work/$type.img" ;;
	esac >"$work/mkfs.log" 2>&1
	drives="$drives -drive file=$work/$type.img,if=none,id=$type,format=raw,cache=unsafe"
	drives="$drives -device virtio-blk-pci,drive=$type"
done

# Multi-threaded emulation crashes guests while probes attach; oops=panic ends the run
# at a guest's Oops.
: >"$work/results"
# shellcheck disable=SC2086 # $drives are words
timeout "${VM_TIMEOUT:-600}" qemu-system-x86_64 -nodefaults -no-user-config -display none \
	-machine q35 -accel tcg,thread=single -cpu max -smp 2 -m "${VM_MEMORY:-1024}" -no-reboot \
	-kernel "$kernel/vmlinuz" -initrd "$work/initrd" \
	-serial "file:$work/console" -serial "file:$work/results" $drives \
	-append "console=ttyS0 quiet oops=panic panic=-1 mitigations=off no5lvl nokaslr random.trust_cpu=on" \
	>"$work/qemu.log" 2>&1 || cat "$work/qemu.log" >&2
tr -d '\r' <"$work/results"
grep -q '^job ended with' "$work/results" || {
	echo "vm: the guest did not finish; the end of its console:" >&2
	tail -n 20 "$work/console" >&2
	exit 1
}
