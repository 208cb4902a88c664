#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The guest's process 1: the root of the machine that it runs on, read-only, below a file system in memory that takes what is written;
# this kernel's modules in it; then commands from the second serial line, as root of all that.
export PATH=/bin
mkdir -p /proc /sys /dev /run /host /kernel /memory /root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
while read -r module; do
    insmod "/lib/modules/$module.ko" || echo "guest: module $module is refused"
done </lib/modules/order

share() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=1048576,$3" "$1" "$2" || echo "guest: no share $1"; }
share host /host ro,cache=loose
share kernel /kernel ro,cache=loose
mount -t tmpfs memory /memory
mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work root /root || echo "guest: no overlay"
cd /root
mkdir -p usr/lib/modules boot tmp proc sys dev run
mount -o bind /kernel/modules usr/lib/modules
cp /kernel/config "boot/config-$(uname -r)"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t bpf bpf sys/fs/bpf
mount -t devtmpfs devtmpfs dev
mkdir -p dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mkdir -p run/netns run/tmp run/out run/guest
chmod 1777 run/tmp
share out run/out trans=virtio
# The kernel asks for modules itself: it need not find kmod on the machine.
cp /bin/busybox /bin/answer run/guest/
ln -s busybox run/guest/modprobe
echo /run/guest/modprobe >/proc/sys/kernel/modprobe
# Debian makes /dev/net/tun before there is the module; here the module does.
chroot . /run/guest/modprobe tun
ip link set lo up

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/guest HOME=/root TMPDIR=/run/tmp LANG=C.UTF-8
# Not process 1 itself: it is told of every orphan's end, and a shell that is told in the middle of `read` forgets what it has read.
exec switch_root /root /bin/sh -c "sh /run/guest/answer <>/dev/ttyS1 >&0 & wait"
