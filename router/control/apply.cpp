// SPDX-License-Identifier: BSD-3-Clause
// A configuration becomes what runs: step by step, and whole or not at all.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/control_plane.h"

namespace pktpit::router {
namespace {

/// A configured seed's number of the flow hash. Neighbouring seeds are as good as any others.
uint64_t spread(uint32_t seed) {
    uint64_t mixed = (seed + uint64_t{1}) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9U;
    return mixed ^ mixed >> 32;
}

}  // namespace

config::Errors ControlPlane::fixed_settings(const config::Config& wanted) const {
    config::Errors errors;
    const auto fixed = [&](bool same, const char* where) {
        if (!same)
            errors.push_back(
                {where, "cannot be changed while the daemon runs", "what runs now",
                 "restart pktpitd: forwarding goes on meanwhile if it was started with --detach"});
    };
    fixed(config_.instance == wanted.instance, "/instance");
    fixed(config_.dataplane == wanted.dataplane, "/dataplane");
    fixed(config_.fib == wanted.fib, "/fib");
    fixed(config_.xdp_dispatcher == wanted.xdp_dispatcher, "/xdp/dispatcher");
    fixed(config_.workers == wanted.workers, "/workers");
    fixed(config_.vfio == wanted.vfio, "/vfio");
    fixed(config_.dpdk == wanted.dpdk, "/dpdk");
    fixed(config_.model == wanted.model, "/model");
    fixed(config_.user == wanted.user, "/user");
    fixed(config_.seccomp == wanted.seccomp, "/seccomp");
    fixed(config_.api == wanted.api, "/api");
    return errors;
}

tl::expected<config::Errors, Refusal> ControlPlane::apply(const config::Config& wanted,
                                                          const WantedRoutes& routes, bool first) {
    Transaction transaction;
    config::Config next = wanted;
    looked_like_.reset();  // whatever comes of it
    BestEffort steps;
    steps.attempt("", [&] { return apply_steps(wanted, routes, first, transaction); });
    if (const auto applied = steps.result(); !applied) {
        Refusal refusal{{applied.error()}, transaction.roll_back()};
        // The new routes' had to go again. At a start all that are known are an earlier data path's, which
        // counts on.
        if (!first)
            if (auto released = release_route_counters(); !released) refusal.left.push_back(released.error());
        for (auto& error : refusal.left) {
            error.message = "could not be put back as it was: " + error.message;
            spdlog::error("{}", error.to_string());
        }
        return tl::unexpected(std::move(refusal));
    }
    std::swap(config_, next);
    generation_++;
    auto left = transaction.commit();
    if (auto released = release_route_counters(); !released) left.push_back(released.error());
    for (const auto& error : left)
        spdlog::warn("{}", error.to_string());
    return left;
}

tl::expected<config::Errors, Refusal> ControlPlane::apply(const config::Config& wanted, bool first) {
    const auto routes = read_wanted_routes(wanted);
    if (!routes) return tl::unexpected(Refusal{routes.error(), {}});
    return apply(wanted, *routes, first);
}

// What is wanted comes before what is wanted no more goes, and ports are attached last: at a restart the swap
// of their programs is the moment when the new tables take over.
Result<void> ControlPlane::apply_steps(const config::Config& wanted, const WantedRoutes& routes, bool first,
                                       Transaction& transaction) {
    // What earlier changes have brought about may not have been read yet.
    if (auto followed = follow_kernel(); !followed) return followed;
    // The last step of a way back.
    if (wanted.interfaces != config_.interfaces || wanted.vrfs != config_.vrfs)
        transaction.on_rollback("routes", [this] { refresh_views(); });
    if (auto done = apply_heartbeat(wanted, first, transaction); !done) return done;
    if (auto done = first ? apply_aggregation(wanted, first, transaction) : Result<void>(); !done)
        return done;
    if (auto done = apply_vrfs(wanted, transaction); !done) return done;
    if (auto done = apply_interfaces(wanted, first, transaction); !done) return done;
    if (auto done = apply_filters(wanted, routes, transaction); !done) return done;
    if (auto done = apply_guards(wanted, transaction); !done) return done;
    if (auto done = apply_neighbours(wanted, transaction); !done) return done;
    refresh_host_prefixes();
    apply_routing(wanted, transaction);
    if (auto wanted_still = go_on(first); !wanted_still) return wanted_still;
    if (auto done = follow_tables(wanted, transaction); !done) return done;
    if (first) read_kernel_routes();
    if (auto done = fpm_routes_.configure(wanted.fpm, wanted.vrfs, transaction); !done) return done;
    if (auto wanted_still = go_on(first); !wanted_still) return wanted_still;
    if (auto done = install_wanted_routes(routing_, route_counters_, routes, transaction); !done) return done;
    if (first)
        cli_routes_.load();
    else
        cli_routes_.refresh();
    routing_.resolve_missing();
    if (!first) ports_.mend(transaction);
    // Ports forward by the whole table from their first packet on.
    routing_.settle_best();
    if (auto done = ports_.attach_all(transaction, [&] { return go_on(first); }); !done) return done;
    // Late, since a group that goes cannot be put back as it was: its workers have to join again.
    if (auto done = first ? Result<void>() : apply_aggregation(wanted, first, transaction); !done)
        return done;
    drop_unwanted(wanted, transaction);
    drop_unwanted_vrfs(wanted, transaction);
    transaction.on_commit("kernel routes", [this] { refresh_kernel_routes(); });
    if (!first) transaction.on_commit("kernel routes", [this] { compare_kernel_routes(); });
    transaction.on_commit("next hops of FPM", [this] { fpm_routes_.refresh(); });
    transaction.on_commit("routes in the kernel", [this, wanted] { return installed_.configured(wanted); });
    // Nothing of a reload can be refused any more, so limits have no way back.
    slow_path_.set_limits(wanted.icmp, wanted.neighbour_queue, wanted.neighbours_unresolved);
    // The last step: from here on there is no way back to what an earlier daemon has left.
    return first ? take_over(wanted, transaction) : Result<void>();
}

// A data path that an earlier daemon has left forwards by its own table until its programs are swapped: that
// has to wait until the new table is as good. Else what there is of it is better than nothing.
void ControlPlane::read_kernel_routes() {
    PortStages* stages = dataplane_.port_stages();
    if (!stages || stages->previous_ports().empty()) return;
    constexpr std::chrono::seconds longest{20};
    const auto end = std::chrono::steady_clock::now() + longest;
    const auto enough = [&] { return !go_on(true) || std::chrono::steady_clock::now() >= end; };
    kernel_routes_.read_now(enough);
    for (const auto& [vrf, routes] : vrf_routes_)
        routes->read_now(enough);
    if (const auto status = kernel_routes_status(); status.followed && !status.complete && go_on(true))
        spdlog::warn("kernel routes: they change faster than they can be read: taking over with {} of them",
                     status.routes);
}

// A start that lasts long is not waited for.
Result<void> ControlPlane::go_on(bool first) const {
    if (!first || !asked_to_stop_ || !asked_to_stop_()) return {};
    return fail("start", "asked to stop before it has taken over; what ran before goes on");
}

// What follows from which interfaces there are.
void ControlPlane::refresh_views() {
    refresh_host_prefixes();
    cli_routes_.refresh();
    refresh_kernel_routes();
    fpm_routes_.refresh();
    routing_.resolve_missing();
}

void ControlPlane::apply_routing(const config::Config& wanted, Transaction& transaction) {
    transaction.on_rollback("/routing", [this, before = routing_.resolve_via_default()] {
        routing_.set_resolve_via_default(before);
    });
    routing_.set_resolve_via_default(wanted.routing.resolve_via_default);
    if (const uint64_t seed = wanted.hash_seed ? spread(*wanted.hash_seed) : own_hash_seed_;
        seed != image_.hash_seed()) {
        transaction.on_rollback("/hash_seed",
                                [this, before = image_.hash_seed()] { image_.set_hash_seed(before); });
        image_.set_hash_seed(seed);
    }
}

// Before ports are prepared: their programs are loaded by it.
Result<void> ControlPlane::apply_heartbeat(const config::Config& wanted, bool first,
                                           Transaction& transaction) {
    PortStages* stages = dataplane_.port_stages();
    if (!stages || (!first && wanted.heartbeat == config_.heartbeat)) return {};
    return transaction.make(
        "/heartbeat", [&] { return stages->set_heartbeat(wanted.heartbeat); },
        [stages, before = config_.heartbeat] { return stages->set_heartbeat(before); });
}

// At a start before ports are prepared, too: their programs are loaded by it.
Result<void> ControlPlane::apply_aggregation(const config::Config& wanted, bool first,
                                             Transaction& transaction) {
    PortStages* stages = dataplane_.port_stages();
    if (!stages || (!first && wanted.aggregation == config_.aggregation)) return {};
    return transaction.make(
        "/aggregation", [&] { return stages->set_aggregation(wanted.aggregation); },
        [stages, before = config_.aggregation] { return stages->set_aggregation(before); });
}

Result<void> ControlPlane::apply_neighbours(const config::Config& wanted, Transaction& transaction) {
    for (const auto& neighbour : wanted.neighbours)
        if (auto done = set_neighbour(neighbour, transaction); !done) return done;
    for (const auto& known : config_.neighbours) {
        const auto same_host = [&](const auto& kept) {
            return kept.interface == known.interface && kept.address == known.address;
        };
        if (std::ranges::none_of(wanted.neighbours, same_host))
            transaction.on_commit("neighbour " + known.address.to_string(),
                                  [this, known] { return remove_neighbour(known); });
    }
    return {};
}

Result<void> ControlPlane::set_neighbour(const config::StaticNeighbour& wanted, Transaction& transaction) {
    const L3Interface* on = routing_.interfaces().by_name(wanted.interface);
    if (!on) return {};
    const std::string what = "neighbour " + wanted.address.to_string();
    const Neighbour* known = routing_.adjacencies().neighbour({on->id, wanted.address});
    const Neighbour now{wanted.mac, NeighbourState::permanent, true};
    if (!known || !known->configured || known->mac != now.mac) {
        transaction.on_rollback(what, [this, id = on->id, address = wanted.address,
                                       before = known ? std::optional(*known) : std::nullopt] {
            routing_.remove_neighbour(id, address);
            if (before) routing_.set_neighbour(id, address, *before);
        });
        routing_.set_neighbour(on->id, wanted.address, now);
    }
    if (on->ifindex == 0) return {};
    const NeighbourEvent* in_kernel = state_.neighbour(on->ifindex, wanted.address);
    const bool usable = in_kernel && Neighbour{{}, in_kernel->state, false}.usable();
    const bool permanent = usable && in_kernel->state == NeighbourState::permanent;
    if (permanent && in_kernel->mac == wanted.mac) return {};
    const MacAddress mac = usable ? in_kernel->mac : MacAddress{};
    return transaction.make(
        what, [&] { return kernel_.set_neighbour(on->ifindex, wanted.address, wanted.mac); },
        [this, ifindex = on->ifindex, address = wanted.address, usable, permanent, mac] {
            if (permanent) return kernel_.set_neighbour(ifindex, address, mac);
            return usable ? kernel_.set_stale_neighbour(ifindex, address, mac)
                          : kernel_.remove_neighbour(ifindex, address);
        });
}

Result<void> ControlPlane::remove_neighbour(const config::StaticNeighbour& unwanted) {
    const L3Interface* on = routing_.interfaces().by_name(unwanted.interface);
    if (!on) return {};
    routing_.remove_neighbour(on->id, unwanted.address);
    return on->ifindex == 0 ? Result<void>() : kernel_.remove_neighbour(on->ifindex, unwanted.address);
}

// What is not given back now is at the next time.
Result<void> ControlPlane::release_route_counters() {
    const auto in_use = [this](const CountedRoute& counted, uint16_t counter) {
        const auto vrf = routing_.vrf_by_table(counted.table);
        const auto route = vrf ? routing_.route(counted.prefix, counted.source, *vrf) : std::nullopt;
        return route && routing_.next_hop_sets().spec_of(route->next_hops).counter == counter;
    };
    BestEffort effort;
    effort.attempt("route counters", [&] { route_counters_.release_unused(in_use); });
    return effort.result();
}

// After a restart: the swap is done; what an earlier daemon has left and nobody wants any more goes.
Result<void> ControlPlane::take_over(const config::Config& wanted, Transaction& transaction) {
    const auto devices = std::make_shared<std::vector<uint32_t>>();
    transaction.on_commit("an earlier daemon's addresses",
                          [this, devices, wanted] { return remove_former_addresses(*devices, wanted); });
    transaction.on_commit("an earlier daemon's devices", [this] { return ports_.give_former_roles_back(); });
    PortStages* stages = dataplane_.port_stages();
    if (!stages) return {};
    auto released = stages->commit();
    if (!released) return tl::unexpected(released.error());
    *devices = std::move(*released);
    return {};
}

Result<void> ControlPlane::remove_former_addresses(const std::vector<uint32_t>& released,
                                                   const config::Config& wanted) {
    BestEffort effort;
    const auto remove_ours = [&](uint32_t ifindex, const std::vector<InterfaceAddress>& keep) {
        for (const auto& known : state_.addresses(ifindex))
            if (known.ours && std::ranges::find(keep, known.address) == keep.end())
                effort.attempt("address", [&] { return kernel_.remove_address(ifindex, known.address); });
    };
    for (const uint32_t ifindex : released)
        remove_ours(ifindex, {});
    for (const auto& [name, port] : ports_.all())
        if (port.ifindex != 0) remove_ours(port.ifindex, wanted.interfaces.at(name).addresses);
    return effort.result();
}

}  // namespace pktpit::router
