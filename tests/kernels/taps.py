# SPDX-License-Identifier: BSD-3-Clause
"""The far ends of the guest's NICs: each a tap device in a network namespace of this machine, which is the host at that NIC.

The emulator reads and writes the tap's queues. What the guest's driver takes of segmentation and checksums the tap leaves to it, as
under every virtual machine's NIC.
"""

import contextlib
import fcntl
import os
import struct

from lib.namespaces import Namespace

TUN = "/dev/net/tun"
# linux/if_tun.h
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x4000, 0x0100
NAME = "eth0"


class TapHost:
    """A host with addresses `own` and their router's, each (IPv4, IPv6)."""

    def __init__(self, label, queues, own, router, lengths=(24, 64)):
        self.namespace, self.own = Namespace(label), own
        self.descriptors = []  # of the tap's queues; the emulator's once it runs
        with self.namespace.entered():
            for _ in range(queues):
                descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
                self.descriptors.append(descriptor)
                flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | (IFF_MULTI_QUEUE if queues > 1 else 0)
                fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", NAME.encode(), flags))
        self.namespace.ip("link", "set", NAME, "up")
        for address, gateway, length in zip(own, router, lengths):
            self.namespace.ip("address", "add", f"{address}/{length}", "dev", NAME, *(["nodad"] if ":" in address else []))
            self.namespace.ip("route", "add", "default", "via", gateway)

    def mtu(self, size):
        self.namespace.ip("link", "set", NAME, "mtu", size)

    def forget_neighbours(self):
        self.namespace.ip("neigh", "flush", "dev", NAME)

    def hand_over(self):
        """The emulator has its own copies: a tap whose emulator has ended is gone."""
        for descriptor in self.descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.descriptors = []

    def delete(self):
        self.hand_over()
        self.namespace.delete()
