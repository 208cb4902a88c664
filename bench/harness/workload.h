/// What is routed and what is sent: a table of prefixes and the destinations that traffic goes to.
/// Deterministic: the same options give the same workload on every machine that has the same table file.
/// Plain values, no kernel.
#pragma once

#include <string>
#include <vector>

#include "fib/address.h"

namespace pktpit::bench {

enum class Table {
    internet,  ///< real Internet table (or, where its file is absent, one with its prefix-length histogram)
    dense,     ///< consecutive /24 or /48 prefixes, as DPDK's l3fwd is usually measured with
};

struct Workload {
    std::string description;
    std::vector<Prefix> prefixes;
    /// A power of two of them, in random order: one in each prefix, uniform over the table, as far as they
    /// reach.
    std::vector<IpAddress> destinations;
};

/// `routes`: how many prefixes, taken evenly from the table; 0: all of it. `data`: folder of the table files.
Workload make_workload(Family family, Table table, size_t routes, const std::string& data);

}  // namespace pktpit::bench
