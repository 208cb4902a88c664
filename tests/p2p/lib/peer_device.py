# SPDX-License-Identifier: BSD-3-Clause
"""The simulated peer device: a process beside the emulated machine (peer/main.cpp), whose memory is the file behind the
ivshmem BAR. It stands in for a bus master: registers of NICs it writes by QEMU's qtest socket.

Its memory is looked into from outside, too: control page, counters, programs (offload/peer_ops/device_memory.h).
"""

import mmap
import signal
import struct
import subprocess

from lib import topology
from lib.routes import BUILD
from guests.waiting import wait_for

PROGRAM = BUILD / "tests" / "p2p" / "peer" / "simulated-peer"
BUS_ADDRESS, SERIAL, GENERATION, TURNS, LOADED, REFUSED, REFUSAL = 8, 16, 24, 256, 264, 272, 280
WINDOWS, WINDOWS_AT, WINDOW_ENTRY = 32, 0x2000, 64
PROGRAMS, PROGRAMS_AT, PROGRAM_ENTRY = 36, 0x4000, 32
COUNTERS, LANE_BYTES = 0x5000, 128
FIRST_PAGE = 4096
NAMES = ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "forwarded", "handed_over", "queue_full", "egress_full",
         "rx_error", "commits", "doorbells", "stale")
ROLES = {"receive": 1, "refill": 2, "transmit": 3, "sent": 4, "take": 5, "hand_over": 6}


def options(directory):
    """For QEMU's command line."""
    return ["-qtest", f"unix:{directory}/qtest,server=on,wait=off", "-qtest-log", "none"]


class PeerDevice:
    def __init__(self, machine, reach=None):
        """`reach`: (address, bytes) of what it may write beside its memory; the NICs' registers."""
        self.machine = machine
        self.reach = reach or [machine.bar(nic, 0) for nic in topology.NIC_ADDRESSES]
        self.file = open(machine.directory / "bar", "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 0)
        self.process = None

    def start(self):
        words = [word for first, size in self.reach for word in (hex(first), str(size))]
        with open(self.machine.directory / "peer.log", "ab") as log:
            self.process = subprocess.Popen([PROGRAM, "--memory", self.machine.directory / "bar", "--qtest",
                                             self.machine.directory / "qtest", "--reach", *words], stdout=log, stderr=log)
        before = self.word(TURNS)
        wait_for(lambda: self.word(TURNS) != before or self.process.poll() is not None, "the peer device's first turn")
        assert self.process.poll() is None, self.log()

    def word(self, offset):
        return struct.unpack_from("<Q", self.memory, offset)[0]

    def set_word(self, offset, value):
        struct.pack_into("<Q", self.memory, offset, value)

    def ready(self):
        """What was published has been loaded."""
        return self.word(SERIAL) % 2 == 0 and self.word(LOADED) == self.word(SERIAL) and self.word(GENERATION) != 0

    def refusal(self):
        return self.memory[REFUSAL:REFUSAL + 232].split(b"\0")[0].decode() if self.word(REFUSED) else ""

    def lane(self, number):
        return dict(zip(NAMES, struct.unpack_from(f"<{len(NAMES)}Q", self.memory, COUNTERS + number * LANE_BYTES)))

    def total(self, name):
        return sum(self.lane(number)[name] for number in range(topology.PORTS))

    def program(self, role, lane):
        """Where its bytes lie, and how many there are."""
        count = struct.unpack_from("<I", self.memory, PROGRAMS)[0]
        for number in range(count):
            at = PROGRAMS_AT + number * PROGRAM_ENTRY
            offset, size = struct.unpack_from("<QI", self.memory, at)
            if (self.memory[at + 18], self.memory[at + 19]) == (lane, ROLES[role]):
                return offset, size
        raise AssertionError(f"there is no program {role} of lane {lane}")

    def window(self, name):
        """(address on the bus, bytes, where the entry lies) of a window that the host has registered."""
        count = struct.unpack_from("<I", self.memory, WINDOWS)[0]
        for number in range(count):
            at = WINDOWS_AT + number * WINDOW_ENTRY
            if self.memory[at + 20:at + 64].split(b"\0")[0].decode() == name:
                return *struct.unpack_from("<QQ", self.memory, at), at
        raise AssertionError(f"there is no window {name}")

    def ring(self, name):
        """The bytes of a window of its own memory."""
        address, size, _ = self.window(name)
        start = address - self.word(BUS_ADDRESS)
        return self.memory[start:start + size]

    def waiting(self, lane):
        """Frames that a NIC has received and that lie in its ring."""
        ring = self.ring(f"p{lane} receive ring")
        return sum(ring[at + 8] & 1 for at in range(0, len(ring), 32))

    def end_of_hosts_part(self):
        """Behind it lie rings, headers and payloads alone."""
        return min(self.window(f"p{port} receive ring")[0] for port in range(topology.PORTS)) - self.word(BUS_ADDRESS)

    def change(self, offset, content):
        """Another table, as a host would write it that means ill."""
        serial = self.word(SERIAL)
        self.set_word(SERIAL, serial + 1)
        self.memory[offset:offset + len(content)] = content
        self.set_word(SERIAL, serial + 2)
        wait_for(self.ready, "the peer device has loaded the table")

    def turn(self):
        """A whole turn of the device has passed."""
        before = self.word(TURNS)
        wait_for(lambda: self.word(TURNS) >= before + 2, "a turn of the peer device")

    def log(self):
        return (self.machine.directory / "peer.log").read_text()

    def stand_still(self):
        self.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: _state(self.process.pid) == "T", "the peer device stands still")

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.stop()
        self.memory.close()
        self.file.close()


def _state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


