# SPDX-License-Identifier: BSD-3-Clause
"""Workers of the aggregation service, each a process in a host's namespace (tests/e2e/summing.cpp), or one whose every
datagram the test sends and receives itself."""

import json
import signal
import socket
import struct
import threading

from lib.namespaces import end
from lib.tools import compiled
from lib.waiting import DEADLINE, wait_for

KEY = "5f3a1c9e7b2d4680"
PORT = 5005


def address_of(host, index):
    return f"10.{host.number}.0.{11 + index}"


def give_addresses(topology, each):
    """`each` workers behind each host, with addresses of their own; the host answers for all of them."""
    workers = []
    for host in topology.hosts:
        for index in range(each):
            host.namespace.ip("address", "add", f"{address_of(host, index)}/24", "dev", "eth0")
            workers.append((host, address_of(host, index)))
    return workers


def group(workers, **settings):
    return {"workers": [address for _, address in workers], "key": KEY, "port": PORT, **settings}


class SummingWorker:
    """One worker. Its lines are read as they come: `events`."""

    def __init__(self, number, host, address, port=PORT, key=KEY, **options):
        words = ["--router", host.router_ip4, "--port", port, "--key", key, "--worker", number, "--bind", address]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", value]
        self.number, self.events = number, []
        # By nsenter, which becomes the program: its id is the program's.
        self.process = host.namespace.start(compiled("summing", "allreduce"), *words, stdout=-1, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def of(self, event):
        return [one for one in self.events if one["event"] == event]

    def wait(self, event, count=1, deadline=120):
        wait_for(lambda: len(self.of(event)) >= count or self.process.poll() is not None,
                 f"worker {self.number}: {event}; so far {self.events[-3:]}", deadline=deadline)
        self.reader.join(0.2)
        assert len(self.of(event)) >= count, f"worker {self.number} ended: {self.events[-3:]}"
        return self.of(event)[-1]

    def finish(self, deadline=250):
        """Its last line, after all sums were right."""
        done = self.wait("done", deadline=deadline)
        assert done["wrong"] == 0 and self.process.wait(DEADLINE) == 0, done
        return done

    def kill(self):
        end(self.process, signal.SIGKILL)


class Job:
    def __init__(self, workers, **options):
        self.workers, self.options = workers, options
        self.running = [self.start(number) for number in range(len(workers))]

    def start(self, number, **options):
        host, address = self.workers[number]
        return SummingWorker(number, host, address, **(self.options | options))

    def restart(self, number, **options):
        self.running[number] = self.start(number, **options)
        return self.running[number]

    def finish(self, deadline=250):
        return [worker.finish(deadline) for worker in self.running]

    def close(self):
        for worker in self.running:
            end(worker.process, signal.SIGKILL)


# allreduce/wire.h.
ADD, RESULT, JOIN, STATE = 1, 2, 3, 6
HEADER = struct.Struct("<HBBIQHHHBb")
MAGIC, INT32, OTHER_VERSION = 0x7031, 1, 0x80
RUNNING = 2


def header(kind=ADD, type=INT32, chunk=0, key=int(KEY, 16), epoch=0, slot=0, count=0, worker=0):
    return HEADER.pack(MAGIC, kind, type, chunk, key, epoch, slot, count, worker, 0)


class WorkerByHand:
    """A worker of an int32 group that sends what the test says, once, and has no clock: it never asks again."""

    def __init__(self, number, host, address):
        self.number, self.to = number, (host.router_ip4, PORT)
        with host.namespace.entered():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        self.socket.bind((address, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def say_join(self):
        self.socket.sendto(header(JOIN, worker=self.number) + struct.pack("<Q", self.number + 1), self.to)

    def wait_until_open(self):
        """The epoch that is open with all workers in it."""
        phase = None
        while phase != RUNNING:
            (_, _, _, _, _, self.epoch, *_), body = self._next(STATE)
            self.slots, _, phase = struct.unpack_from("<HHB", body, 3 * 8 + 4 + 2)
        return self.epoch

    def _next(self, kind):
        """What comes next, which is of that kind, or the router's word (of which there may be some more)."""
        while True:
            datagram = self.socket.recv(2048)
            fields = HEADER.unpack_from(datagram)
            if fields[1] == kind:
                return fields, datagram[HEADER.size:]
            assert fields[1] == STATE, datagram

    def add(self, chunk, elements):
        version = OTHER_VERSION if chunk & self.slots else 0
        self.socket.sendto(header(ADD, INT32 | version, chunk, epoch=self.epoch, slot=chunk % self.slots, count=len(elements),
                                  worker=self.number) + struct.pack(f"<{len(elements)}i", *elements), self.to)

    def result(self, chunk):
        """The sums, when the next result that comes is this chunk's for this worker."""
        (_, _, _, of, _, epoch, _, count, worker, _), body = self._next(RESULT)
        assert (of, epoch, worker) == (chunk, self.epoch, self.number)
        return struct.unpack(f"<{count}i", body)

    def more(self):
        """Whether a result has come that nobody has read."""
        self.socket.setblocking(False)
        try:
            return bool(self._next(RESULT))
        except BlockingIOError:
            return False
