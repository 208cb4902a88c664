# SPDX-License-Identifier: BSD-3-Clause
"""Allreduce through a Pktpit router, for numpy arrays (docs/aggregation.md).

    worker = pktpit_allreduce.Worker("192.0.2.1", key=0x5f3a1c9e7b2d4680, worker=0)
    worker.join()                    # waits for all workers
    worker.sum(array)                # in place: int32, or float32 where the group's type is bfp16
    total = worker.sum_fixed(gradient, scale=2**16)   # floating point, as fixed-point integers

One thread a worker. The library is found by the loader, or named by PKTPIT_ALLREDUCE_LIBRARY.
"""

import ctypes
import os
import sys

import numpy as np

_LOG = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
WAYS = ("none", "router", "ring")
FAILURES = ("none", "setup", "no_router", "workers", "worker_lost", "peer", "too_late")


def _load():
    library = ctypes.CDLL(os.environ.get("PKTPIT_ALLREDUCE_LIBRARY", "libpktpit_allreduce.so.0"))
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint
    for name, result, *arguments in (
            ("open", handle, text, ctypes.c_uint16, ctypes.c_uint64, number, text, text, number, number, _LOG),
            ("close", None, handle), ("join", ctypes.c_int, handle),
            ("sum_int32", ctypes.c_int, handle, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
            ("sum_float", ctypes.c_int, handle, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
            ("message", text, handle), ("lost", ctypes.c_uint64, handle), ("way", ctypes.c_int, handle),
            ("epoch", number, handle), ("workers", number, handle)):
        function = getattr(library, f"pktpit_allreduce_{name}")
        function.restype, function.argtypes = result, arguments
    return library


class AllreduceError(Exception):
    """`failure`: one of FAILURES; `lost`: numbers of workers, with worker_lost: join() again."""

    def __init__(self, failure, message, lost):
        super().__init__(message)
        self.failure, self.lost = failure, lost


class Worker:
    def __init__(self, router, key, worker, port=5005, bind="", peers=(), join_timeout=30.0, router_timeout=2.0, log=None):
        """`peers`: "ADDRESS:PORT" of each worker, for a ring over TCP where the router does not answer. `log`: told so."""
        self._handle = None
        self._library = _load()
        say = log or (lambda line: print(f"pktpit_allreduce: {line}", file=sys.stderr))
        self._log = _LOG(lambda line: say(line.decode()))  # the library keeps it
        self._handle = self._library.pktpit_allreduce_open(
            router.encode(), port, key, worker, bind.encode(), ",".join(peers).encode(), int(join_timeout * 1000),
            int(router_timeout * 1000), self._log)
        if not self._handle:
            raise MemoryError("pktpit_allreduce_open")

    def close(self):
        """Leaves the group."""
        if self._handle:
            self._library.pktpit_allreduce_close(self._handle)
            self._handle = None

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _check(self, failure):
        if failure:
            bits = self._library.pktpit_allreduce_lost(self._handle)
            raise AllreduceError(FAILURES[failure], self._library.pktpit_allreduce_message(self._handle).decode(),
                                 [number for number in range(64) if bits >> number & 1])

    def join(self):
        """Waits until all workers have joined; again after AllreduceError of worker_lost."""
        self._check(self._library.pktpit_allreduce_join(self._handle))

    way = property(lambda self: WAYS[self._library.pktpit_allreduce_way(self._handle)])
    epoch = property(lambda self: self._library.pktpit_allreduce_epoch(self._handle))
    workers = property(lambda self: self._library.pktpit_allreduce_workers(self._handle))

    def sum(self, array):
        """Replaces the array by the sum of all workers', and returns it. A group of type int32 adds int32, which wraps; one
        of type bfp16 float32, rounded to an exponent that a chunk of all workers has in common, the same bits at each."""
        if array.dtype not in (np.int32, np.float32) or not array.flags.c_contiguous or not array.flags.writeable:
            raise TypeError(f"found {array.dtype}{'' if array.flags.c_contiguous else ', not contiguous'}: "
                            "a writeable contiguous array of int32 or float32 is expected")
        add = self._library.pktpit_allreduce_sum_int32 if array.dtype == np.int32 else self._library.pktpit_allreduce_sum_float
        self._check(add(self._handle, array.ctypes.data, array.ctypes.data, array.size))
        return array

    def sum_fixed(self, array, scale):
        """The sum of all workers' floating-point arrays as float64: each element times `scale`, rounded to an integer,
        added exactly. Raises OverflowError where the sum of so many workers might not fit."""
        scaled = np.rint(np.asarray(array, dtype=np.float64) * scale)
        if scaled.size and not np.max(np.abs(scaled)) * max(1, self.workers) <= 2**31 - 1:
            raise OverflowError(f"elements up to {np.max(np.abs(array))} do not fit {self.workers} times at scale {scale}")
        return self.sum(np.ascontiguousarray(scaled.astype(np.int32))).astype(np.float64) / scale
