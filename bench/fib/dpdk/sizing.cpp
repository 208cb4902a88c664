// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/dpdk/sizing.h"

#include <algorithm>

namespace pktpit::bench::fib {

size_t count_tbl8(const Table& table) {
    const unsigned bits = table.family == Family::ipv4 ? 32 : 128;
    size_t count = 0;
    for (unsigned head = 24; head < bits; head += 8) {
        std::vector<Prefix> heads;
        for (const Route& route : table.routes)
            if (route.prefix.length > head) heads.push_back(Prefix::of(route.prefix.address, head));
        std::sort(heads.begin(), heads.end());
        count += static_cast<size_t>(std::unique(heads.begin(), heads.end()) - heads.begin());
    }
    return count;
}

size_t count_reserved_tbl8(const Table& table) {
    const auto level = [](const Prefix& prefix) { return std::max(24u, (prefix.length + 7u) / 8 * 8); };
    size_t count = 0;
    std::vector<Prefix> covering;
    Prefix before;
    for (const Route& route : table.routes) {
        while (!covering.empty() && !covering.back().contains(route.prefix))
            covering.pop_back();
        const Prefix last_table = Prefix::of(route.prefix.address, route.prefix.length / 8 * 8u);
        const bool shared = before.length > last_table.length && last_table.contains(before);
        if (!shared) count += (level(route.prefix) - (covering.empty() ? 24 : level(covering.back()))) / 8;
        covering.push_back(route.prefix);
        before = route.prefix;
    }
    return count;
}

}  // namespace pktpit::bench::fib
