#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The guest's process 1: mounts, modules, then commands from the second serial line. Steps are announced on the console.
export PATH=/bin
say() { echo "guest: $*" >/dev/console; }

mkdir -p /proc /sys /dev /run /tmp /var/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/hugepages
mount -t tmpfs tmpfs /run
mount -t hugetlbfs hugetlbfs /dev/hugepages
while read -r module; do
    insmod "/lib/modules/$module.ko" || say "module $module is refused"
done </lib/modules/order
ip link set lo up
say "modules are loaded, ready for commands"

# Not by process 1 itself: it is told of every orphan's end, and a shell that is told in the middle of `read` forgets
# what it has read.
answer <>/dev/ttyS1 >&0 &
wait $!
