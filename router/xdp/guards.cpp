// SPDX-License-Identifier: BSD-3-Clause
// Checks of sources, and rates, on the `xdp` dataplane: entries of a map change in place; programs are
// exchanged where ports begin or cease to have any.
#include "router/xdp/dataplane.h"

namespace pktpit::router {

Result<void> XdpDataplane::set_guards(const GuardSet& set) {
    prepared_.clear();  // those not attached yet are loaded anew, with what is to be in force then
    auto& block = *reinterpret_cast<pp_guard*>(guard_memory_.memory().data());
    bool exchange = false;
    for (const auto& [port, attached] : ports_)
        exchange = exchange || set.of_port(port) != guards_.of_port(port);
    write_guard(block, guards_, set);
    const GuardSet before = std::exchange(guards_, set);
    published_guard_.store(set.any() ? &block : nullptr, std::memory_order_release);
    if (!exchange) return {};
    auto swapped = swap_programs();
    if (!swapped) {
        write_guard(block, guards_, before);
        guards_ = before;
        published_guard_.store(before.any() ? &block : nullptr, std::memory_order_release);
        (void)swap_programs();  // one that cannot be exchanged either way goes on with what it has
    }
    return swapped;
}

}  // namespace pktpit::router
