// SPDX-License-Identifier: BSD-3-Clause
// The VRFs of a configuration: those that come are there before their interfaces and routes; those that go
// keep their routes until their interfaces have left, when nothing can be refused any more.
#include <algorithm>

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
            if (const auto added = routing_.vrf_by_name(name)) remove_vrf(*added);
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
                vrf_routes_.erase(name);
                if (const auto gone = routing_.vrf_by_name(name)) remove_vrf(*gone);
            });
    PortStages* stages = dataplane_.port_stages();
    if (stages && wanted.vrfs.empty() && !config_.vrfs.empty())
        transaction.on_commit("/vrfs", [stages] { return stages->set_vrfs(false); });
}

// The default VRF's table, and that of each other: by the same settings.
Result<void> ControlPlane::follow_tables(const config::Config& wanted, Transaction& transaction) {
    if (auto done = kernel_routes_.configure(wanted.kernel_routes, transaction); !done) return done;
    for (const auto& [name, vrf] : wanted.vrfs) {
        if (!vrf_routes_.contains(name)) {
            transaction.on_rollback("kernel routes", [this, name = name] { vrf_routes_.erase(name); });
            vrf_routes_[name] = std::make_unique<KernelRoutes>(
                routing_, watcher_, open_kernel_, events_, routing_.vrf_by_name(name).value_or(default_vrf));
        }
        config::KernelRoutes of_vrf = wanted.kernel_routes;
        of_vrf.table = vrf.table;
        if (auto done = vrf_routes_[name]->configure(of_vrf, transaction); !done) return done;
    }
    return {};
}

void ControlPlane::refresh_kernel_routes() {
    kernel_routes_.refresh();
    for (const auto& [vrf, routes] : vrf_routes_)
        routes->refresh();
}

void ControlPlane::compare_kernel_routes() {
    kernel_routes_.compare();
    for (const auto& [vrf, routes] : vrf_routes_)
        routes->compare();
}

KernelRoutes::Status ControlPlane::kernel_routes_status() const {
    KernelRoutes::Status all = kernel_routes_.status();
    for (const auto& [vrf, routes] : vrf_routes_) {
        const KernelRoutes::Status one = routes->status();
        all.complete = all.complete && one.complete;
        all.routes += one.routes;
        all.waiting += one.waiting;
        all.turns += one.turns;
        all.comparisons += one.comparisons;
        all.differences += one.differences;
        all.longest_turn = std::max(all.longest_turn, one.longest_turn);
        all.netlink += one.netlink;
    }
    return all;
}

size_t ControlPlane::kernel_routes_bytes() const {
    size_t bytes = kernel_routes_.memory_bytes();
    for (const auto& [vrf, routes] : vrf_routes_)
        bytes += routes->memory_bytes();
    return bytes;
}

std::map<std::string, const IgnoredRoutes*> ControlPlane::ignored_routes() const {
    std::map<std::string, const IgnoredRoutes*> all{{"", &kernel_routes_.ignored()}};
    for (const auto& [vrf, routes] : vrf_routes_)
        all[vrf] = &routes->ignored();
    return all;
}

// Rules that send packets of the kernel's elsewhere than Pktpit's go.
void ControlPlane::find_rules(std::vector<DriftItem>& found) const {
    for (const auto& [rule, entry] : kernel_routes_.ignored().all())
        if (entry.kind == IgnoredRoutes::Kind::rule)
            found.push_back({"rule", "ip " + std::string(rule.prefix.address.is_v6() ? "-6 " : "") + "rule",
                             "none that selects by more than an interface's VRF", reason_of(rule, entry.kind),
                             false});
}

}  // namespace pktpit::router
