# SPDX-License-Identifier: BSD-3-Clause
"""A routing table, what a router has to do with it, and traffic that fits it."""

from lib.oracle import Oracle
from lib.traffic import Burst


class World:
    """`name` says which files the guest finds it in."""

    def __init__(self, name, table):
        self.name, self.table, self.oracle = name, table, Oracle(table)

    def burst(self, count, seed, **options):
        return Burst(self.table, self.oracle, count, seed, **options)
