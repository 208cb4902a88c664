// A configuration becomes what runs: step by step, and whole or not at all.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/daemon/daemon.h"

namespace pktpit::router {
namespace {

// The same place on the wire: what else differs can be changed without taking the interface away.
bool same_place(const config::Interface& a, const config::Interface& b) {
    return a.parent == b.parent && a.vlan == b.vlan && a.vlan_protocol == b.vlan_protocol && a.pci == b.pci &&
           a.device == b.device && a.wire == b.wire && a.nic_port == b.nic_port && a.payload == b.payload &&
           (a.pci.empty() || a.mtu == b.mtu);
}

}  // namespace

config::Errors Daemon::fixed_settings(const config::Config& wanted) const {
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
    return errors;
}

tl::expected<void, config::Errors> Daemon::apply(const config::Config& wanted, bool first) {
    // Files are read before anything is touched.
    const auto routes = read_wanted_routes(wanted);
    if (!routes) return tl::unexpected(routes.error());

    std::optional<Error> refused;
    {
        Transaction transaction;
        if (auto applied = apply_steps(wanted, *routes, first, transaction))
            transaction.commit();
        else
            refused = applied.error();
    }
    // The new routes' counters if they had to go again, else the old ones'.
    release_route_counters();
    if (refused) return tl::unexpected(config::Errors{*refused});
    config_ = wanted;
    observations_->ports_changed();
    hot_ports_->routes().set_budget(wanted.offload.fib_entries);
    generation_++;
    spdlog::set_level(spdlog::level::from_str(wanted.log_level));
    const auto usage = image_->usage();
    spdlog::info("configuration {} applied: {} interfaces, {} IPv4 and {} IPv6 prefixes in the FIB",
                 generation_, wanted.interfaces.size(), usage.prefixes4, usage.prefixes6);
    return {};
}

// What is wanted comes before what is wanted no more goes, and ports are attached last: at a restart the swap
// of their programs is the moment when the new tables take over.
Result<void> Daemon::apply_steps(const config::Config& wanted, const WantedRoutes& routes, bool first,
                                 Transaction& transaction) {
    if (auto done = apply_interfaces(wanted, transaction); !done) return done;
    if (auto done = apply_neighbours(wanted, transaction); !done) return done;
    refresh_host_addresses();
    routing_->set_resolve_via_default(wanted.routing.resolve_via_default);
    transaction.on_rollback(
        [this] { routing_->set_resolve_via_default(config_.routing.resolve_via_default); });
    if (auto done = kernel_routes_->configure(wanted.kernel_routes, transaction); !done) return done;
    if (auto done = install_wanted_routes(*routing_, *route_counters_, routes, transaction); !done)
        return done;
    if (first)
        cli_routes_->load();
    else
        cli_routes_->refresh();
    routing_->resolve_missing();
    if (auto done = ports_->attach_all(transaction); !done) return done;
    if (first)
        if (auto done = take_over(wanted); !done) return done;

    slow_path_->set_limits(wanted.icmp, wanted.neighbour_queue);
    transaction.on_rollback([this] { slow_path_->set_limits(config_.icmp, config_.neighbour_queue); });
    if (!first) kernel_routes_->refresh();
    return {};
}

Result<void> Daemon::apply_interfaces(const config::Config& wanted, Transaction& transaction) {
    const auto each = [&](bool vlans, const auto& visit) -> Result<void> {
        for (const auto& [name, interface] : wanted.interfaces)
            if (interface.parent.has_value() == vlans)
                if (Result<void> done = visit(interface); !done) return done;
        return {};
    };
    const auto add_new = [&](const config::Interface& interface, InterfaceId keep_id) -> Result<void> {
        if (auto made = make_device(interface); !made) return made;
        transaction.on_rollback([this, name = interface.name] { dataplane_->destroy_device(name); });
        return ports_->add(interface, transaction, keep_id);
    };
    const auto bring = [&](const config::Interface& interface) -> Result<void> {
        const auto known = ports_->all().find(interface.name);
        if (known == ports_->all().end()) return add_new(interface, 0);
        if (known->second.config == interface) return {};
        if (same_place(known->second.config, interface)) return ports_->change(interface, transaction);
        const config::Interface before = known->second.config;
        const InterfaceId id = known->second.interface;
        ports_->remove(interface.name, false);
        dataplane_->destroy_device(interface.name);
        transaction.on_rollback([this, before, id] {
            Transaction again;
            if (!make_device(before) || !ports_->add(before, again, id) || !ports_->attach_all(again)) return;
            again.commit();
            for (const auto& neighbour : config_.neighbours)
                if (neighbour.interface == before.name)
                    routing_->set_neighbour(id, neighbour.address,
                                            {neighbour.mac, NeighbourState::permanent, true});
        });
        return add_new(interface, id);
    };
    if (auto done = each(false, bring); !done) return done;
    if (auto done = each(true, bring); !done) return done;

    std::vector<std::string> unwanted;
    for (const auto& [name, port] : ports_->all())
        if (!wanted.interfaces.contains(name)) unwanted.push_back(name);
    // VLANs before the ports that carry them.
    std::stable_partition(unwanted.begin(), unwanted.end(),
                          [&](const auto& name) { return ports_->all().at(name).config.parent.has_value(); });
    transaction.on_commit([this, unwanted] {
        for (const auto& name : unwanted) {
            slow_path_->interface_gone(ports_->all().at(name).interface);
            ports_->remove(name, true);
            dataplane_->destroy_device(name);
        }
        if (!unwanted.empty()) refresh_host_addresses();
    });
    return {};
}

// A device that the dataplane brings along is known to the kernel from now on; that has to be read before the
// port is set up on it.
Result<void> Daemon::make_device(const config::Interface& interface) {
    if (interface.parent) return {};
    if (auto made = dataplane_->create_device(interface); !made) return made;
    return state_->link(interface.name) ? Result<void>() : follow(*kernel_, *state_);
}

Result<void> Daemon::apply_neighbours(const config::Config& wanted, Transaction& transaction) {
    const auto set = [this](const config::StaticNeighbour& neighbour) -> Result<void> {
        const L3Interface* interface = routing_->interfaces().by_name(neighbour.interface);
        if (!interface) return {};
        routing_->set_neighbour(interface->id, neighbour.address,
                                {neighbour.mac, NeighbourState::permanent, true});
        if (interface->ifindex == 0) return {};
        return kernel_->set_neighbour(interface->ifindex, neighbour.address, neighbour.mac);
    };
    const auto remove = [this](const config::StaticNeighbour& neighbour) {
        const L3Interface* interface = routing_->interfaces().by_name(neighbour.interface);
        if (!interface) return;
        routing_->remove_neighbour(interface->id, neighbour.address);
        if (interface->ifindex != 0) (void)kernel_->remove_neighbour(interface->ifindex, neighbour.address);
    };
    const auto same_host = [](const config::StaticNeighbour& a, const config::StaticNeighbour& b) {
        return a.interface == b.interface && a.address == b.address;
    };
    for (const auto& neighbour : wanted.neighbours) {
        const auto before = std::ranges::find_if(
            config_.neighbours, [&](const auto& known) { return same_host(known, neighbour); });
        transaction.on_rollback(
            [=, before = before == config_.neighbours.end() ? std::nullopt : std::optional(*before)] {
                remove(neighbour);
                if (before) (void)set(*before);
            });
        if (auto done = set(neighbour); !done) return done;
    }
    transaction.on_commit([=, running = config_.neighbours, wanted = wanted.neighbours] {
        for (const auto& known : running)
            if (std::ranges::none_of(wanted, [&](const auto& kept) { return same_host(known, kept); }))
                remove(known);
    });
    return {};
}

void Daemon::release_route_counters() {
    route_counters_->release_unused([this](const CountedRoute& counted, uint16_t counter) {
        const auto route = routing_->route(counted.prefix, counted.source);
        return route && routing_->next_hop_sets().spec_of(route->next_hops).counter == counter;
    });
}

// After a restart: the swap is done; what an earlier daemon has left and nobody wants any more goes.
Result<void> Daemon::take_over(const config::Config& wanted) {
    auto released = dataplane_->commit();
    if (!released) return tl::unexpected(released.error());
    const auto remove_ours = [this](uint32_t ifindex, const std::vector<InterfaceAddress>& keep) {
        for (const auto& known : state_->addresses(ifindex))
            if (known.ours && std::ranges::find(keep, known.address) == keep.end())
                (void)kernel_->remove_address(ifindex, known.address);
    };
    for (const uint32_t ifindex : *released)
        remove_ours(ifindex, {});
    for (const auto& [name, port] : ports_->all())
        if (port.ifindex != 0) remove_ours(port.ifindex, wanted.interfaces.at(name).addresses);
    return {};
}

}  // namespace pktpit::router
