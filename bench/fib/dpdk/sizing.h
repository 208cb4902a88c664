// SPDX-License-Identifier: BSD-3-Clause
/// How many second-level tables a 24-8(-8...) structure needs for a table. Pure.
#pragma once

#include <cstddef>

#include "bench/fib/table.h"

namespace pktpit::bench::fib {

/// Distinct address heads of 24, 32, ... bits below which a longer prefix lies: each is a group of 256
/// entries in rte_lpm, rte_fib (IPv4: heads of 24 bits only) and rte_fib6.
size_t count_tbl8(const Table& table);

/// At most how many rte_fib6 sets aside while the sorted routes are added: for a prefix whose last table has
/// no other prefix yet, those from its nearest covering prefix's level to its own, shared or not. It refuses
/// routes when they are more than it has, far more than it ever fills.
size_t count_reserved_tbl8(const Table& table);

}  // namespace pktpit::bench::fib
