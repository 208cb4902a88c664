# SPDX-License-Identifier: BSD-3-Clause
"""Frames on the wire of one device: raw bytes out, raw bytes in, VLAN tags included.

scapy builds and dissects; sending and receiving is done here, since its sniffers miss frames and are slow.
"""

import ctypes
import os
import select
import socket
import struct
import time

from lib.waiting import PATIENCE

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_IGNORE_OUTGOING = 23
PACKET_ADD_MEMBERSHIP = 1
PACKET_MR_PROMISC = 1
SO_ATTACH_FILTER = 26
SO_RCVBUFFORCE = 33
TP_STATUS_VLAN_VALID = 0x10
TP_STATUS_VLAN_TPID_VALID = 0x40


def _no_streams():
    """A socket filter (classic BPF) that passes over the frames of streams: UDP from ports 10000 to 10255 to port 5000.
    Thousands of them would fill the socket's buffer while a test looks for a frame of its own."""
    load_length, load_half, load_byte, load_half_at_x, set_x = 0x80, 0x28, 0x30, 0x48, 0x01
    equal, above, at_least, answer = 0x15, 0x25, 0x35, 0x06
    code = [(load_length, 0, 0, 0), (at_least, 0, 14, 58),
            (load_half, 0, 0, 12), (equal, 0, 3, 0x0800),
            (load_byte, 0, 0, 23), (set_x, 0, 0, 34), (equal, 4, 9, 17),
            (equal, 0, 8, 0x86DD),
            (load_byte, 0, 0, 20), (set_x, 0, 0, 54), (equal, 0, 5, 17),
            (load_half_at_x, 0, 0, 0), (at_least, 0, 3, 10000), (above, 2, 0, 10255),
            (load_half_at_x, 0, 0, 2), (equal, 1, 0, 5000),
            (answer, 0, 0, 0xFFFFFFFF), (answer, 0, 0, 0)]
    return b"".join(struct.pack("=HBBI", *each) for each in code), len(code)


class NothingReceived(AssertionError):
    pass


class Wire:
    def __init__(self, namespace, device):
        self.device = device
        self.pending = []  # arrived, not yet asked for
        with namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            code, length = _no_streams()
            kept = ctypes.create_string_buffer(code)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", length, ctypes.addressof(kept)))
            self.socket.bind((device, ETH_P_ALL))
            # Frames for other MAC addresses too: a router that sends to the wrong station is to be seen.
            index = socket.if_nametoindex(device)
            self.socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("=iHH8s", index, PACKET_MR_PROMISC, 0, b""))
        self.socket.setblocking(False)

    def close(self):
        self.socket.close()

    def send(self, *frames):
        for frame in frames:
            self.socket.send(bytes(frame))

    def drain(self):
        self._pull()
        self.pending.clear()

    def receive(self, match=lambda frame: True, deadline=60.0, what="a matching frame"):
        """The first frame for which `match` holds, taken out. All others stay for later calls, in order. A deadline below 2
        seconds is for what is sent again if it does not come; all others end a hang, and are a minute at least."""
        looked_at = 0
        deadline = deadline if deadline < 2 else max(60.0, deadline) * PATIENCE
        end = time.monotonic() + deadline
        while True:
            self._pull()
            for index in range(looked_at, len(self.pending)):
                if match(self.pending[index]):
                    return self.pending.pop(index)
            looked_at = len(self.pending)
            left = end - time.monotonic()
            if left <= 0:
                latest = ", ".join(frame.hex() for frame in self.pending[-5:]) or "nothing"
                raise NothingReceived(f"{self.device}: {what} did not come in {deadline:.1f} s; came instead: {latest}")
            select.select([self.socket], [], [], left)

    def receive_many(self, count, match, deadline=60.0, what="matching frames"):
        return [self.receive(match, deadline, f"{what} {i + 1} of {count}") for i in range(count)]

    def waiting(self, match=lambda frame: True):
        """Everything that has arrived by now and matches, taken out."""
        self._pull()
        found = [frame for frame in self.pending if match(frame)]
        self.pending = [frame for frame in self.pending if not match(frame)]
        return found

    def _pull(self):
        while (frame := self._take()) is not None:
            self.pending.append(frame)

    def _take(self):
        try:
            data, ancillary, _, _ = self.socket.recvmsg(1 << 17, 256)
        except BlockingIOError:
            return None
        except OSError:  # the device went down or away: what it had received is lost with it
            return None
        for level, kind, value in ancillary:
            if level == SOL_PACKET and kind == PACKET_AUXDATA:
                status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", value[:20])
                if status & TP_STATUS_VLAN_VALID:  # the kernel took the outermost tag off: back to the bytes as sent
                    tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                    data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
        return data


def token():
    """Bytes that no other frame carries: by them a test knows its packets, and errors that quote them."""
    return b"pk" + os.urandom(10)
