# SPDX-License-Identifier: BSD-3-Clause
"""Workers of the aggregation service, each a process in a host's namespace (tests/e2e/summing.cpp)."""

import json
import signal
import threading

from lib.namespaces import end
from lib.tools import compiled
from lib.waiting import wait_for

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
        assert done["wrong"] == 0 and self.process.wait(60) == 0, done
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
