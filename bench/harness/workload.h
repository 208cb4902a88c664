// SPDX-License-Identifier: BSD-3-Clause
/// What is routed and what is sent: a table of prefixes and the destinations that traffic goes to.
/// Deterministic: the same options give the same workload on every machine that has the same table file.
/// Plain values, no kernel.
#pragma once

#include <string>
#include <vector>

#include "base/address.h"

namespace pktpit::bench::harness {

enum class Table {
    internet,  ///< real Internet table; where its file is absent, a generated one with its prefix lengths,
               ///< and `description` says so
    dense,     ///< consecutive /24 or /48 prefixes, as DPDK's l3fwd is usually measured with
};

/// How often a destination is sent to.
enum class Traffic {
    uniform,   ///< one destination in each prefix, each as often
    zipf,      ///< prefixes by Zipf's law, exponent 1.0, over a random ranking
    one_flow,  ///< always the same destination
};

struct Workload {
    std::string description;
    std::string label;  ///< the same in a few words
    std::vector<Prefix> prefixes;
    /// A power of two of them, in random order, as `Traffic` says.
    std::vector<IpAddress> destinations;
};

/// `routes`: how many prefixes, taken evenly from the table; 0: all of it. `data`: folder of the table files;
/// empty: PKTPIT_DATA's. Throws Failure.
Workload make_workload(Family family, Table table, size_t routes, const std::string& data,
                       Traffic traffic = Traffic::uniform);

}  // namespace pktpit::bench::harness
