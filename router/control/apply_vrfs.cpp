// SPDX-License-Identifier: BSD-3-Clause
// The VRFs of a configuration: those that come are there before their interfaces and routes; those that go
// keep their routes until their interfaces have left, when nothing can be refused any more.
#include "router/control/control_plane.h"

namespace pktpit::router {

// Programs look for the tables of interfaces before the first interface has one.
Result<void> ControlPlane::apply_vrfs(const config::Config& wanted, Transaction& transaction) {
    if (wanted.vrfs == config_.vrfs) return {};
    PortStages* stages = dataplane_.port_stages();
    if (stages && config_.vrfs.empty()) {
        auto done = transaction.make(
            "/vrfs", [&] { return stages->set_vrfs(true); }, [stages] { return stages->set_vrfs(false); });
        if (!done) return done;
    }
    for (const auto& [name, vrf] : wanted.vrfs) {
        const VrfName named{name, vrf.table};
        if (const auto known = routing_.vrf_by_name(name)) {
            transaction.on_rollback("VRF " + name, [this, id = *known, before = routing_.vrf_name(*known)] {
                routing_.rename_vrf(id, before);
            });
            routing_.rename_vrf(*known, named);
            continue;
        }
        transaction.on_rollback("VRF " + name, [this, name = name] {
            if (const auto added = routing_.vrf_by_name(name)) routing_.remove_vrf(*added);
        });
        if (auto added = routing_.add_vrf(named); !added) {
            Error error = added.error();
            error.where = "/vrfs/" + name;
            return tl::unexpected(std::move(error));
        }
    }
    return {};
}

void ControlPlane::drop_unwanted_vrfs(const config::Config& wanted, Transaction& transaction) {
    for (const auto& [name, vrf] : config_.vrfs)
        if (!wanted.vrfs.contains(name))
            transaction.on_commit("VRF " + name, [this, name = name] {
                if (const auto gone = routing_.vrf_by_name(name)) routing_.remove_vrf(*gone);
            });
    PortStages* stages = dataplane_.port_stages();
    if (stages && wanted.vrfs.empty() && !config_.vrfs.empty())
        transaction.on_commit("/vrfs", [stages] { return stages->set_vrfs(false); });
}

}  // namespace pktpit::router
