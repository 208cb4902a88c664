// SPDX-License-Identifier: BSD-3-Clause
// Checks of sources and rates of a configuration, bound to the interfaces that there are now.
#include "router/control/control_plane.h"

namespace pktpit::router {

Result<void> ControlPlane::apply_guards(const config::Config& wanted, Transaction& transaction) {
    GuardSet next;
    next.host = wanted.host_police;
    for (const auto& [name, interface] : wanted.interfaces) {
        if (interface.rpf == config::Rpf::off && !interface.police_in) continue;
        if (const L3Interface* on = routing_.interfaces().by_name(name))
            next.interfaces.push_back({on->id, on->port, interface.rpf, interface.police_in});
    }
    if (auto numbered = number_buckets(next, guards_); !numbered) return numbered;
    if (next == guards_) return {};
    auto done = transaction.make(
        "/interfaces", [&] { return dataplane_.set_guards(next); },
        [this, before = guards_] {
            guards_ = before;
            return dataplane_.set_guards(before);
        });
    if (done) guards_ = std::move(next);
    return done;
}

}  // namespace pktpit::router
