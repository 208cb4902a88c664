#include "router/daemon/ports.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "router/daemon/offloads.h"
#include "router/dataplane/sysctl.h"

namespace pktpit::router {
namespace {

bool is_port(const config::Interface& interface) {
    return !interface.parent;
}

// What a router's interface is to the kernel. `forwarding` is the IPv6 role alone (router flag in
// advertisements, all-routers group, no belief in others' advertisements): transit does not reach the kernel.
// Addresses stay when a link goes down, as IPv4 ones do.
constexpr std::array role_switches{"forwarding", "keep_addr_on_down"};

bool contains(const std::vector<InterfaceAddress>& addresses, const InterfaceAddress& address) {
    return std::ranges::find(addresses, address) != addresses.end();
}

}  // namespace

Ports::~Ports() {
    if (leave_running_) return;
    for (auto& [name, port] : ports_)
        give_role_back(port);
}

void Ports::take_role(Port& port) {
    for (const std::string name : role_switches) {
        const std::string path = "ipv6/conf/" + port.config.name + "/" + name;
        if (const auto before = set_sysctl(path, "1")) port.switches_before.try_emplace(path, *before);
    }
    if (is_port(port.config) && set_receive_vlan_offload(port.config.name, false).value_or(false))
        port.vlan_offload_before = true;
}

void Ports::give_role_back(Port& port) {
    for (const auto& [path, before] : port.switches_before)
        (void)set_sysctl(path, before);
    port.switches_before.clear();
    if (std::exchange(port.vlan_offload_before, false))
        (void)set_receive_vlan_offload(port.config.name, true);
}

Result<void> Ports::add(const config::Interface& wanted, Transaction& transaction, InterfaceId keep_id) {
    Port port;
    port.config = wanted;
    const LinkEvent* link = state_.link(wanted.name);
    if (is_port(wanted)) {
        if (!link)
            return fail("/interfaces/" + wanted.name, "there is no device \"" + wanted.name + "\"",
                        "an existing Linux device", "ip link");
        const auto id = choose_port(link->ifindex);
        if (!id) return tl::unexpected(id.error());
        port.port = *id;
    } else {
        const auto parent = ports_.find(*wanted.parent);
        if (parent == ports_.end())
            return fail("/interfaces/" + wanted.name + "/parent", "no interface \"" + *wanted.parent + "\"",
                        "a port of the configuration");
        port.port = parent->second.port;
        if (!link && wanted.vlan.size() == 1) {
            auto made = kernel_.add_vlan_link(wanted.name, parent->second.ifindex, wanted.vlan[0],
                                              wanted.vlan_protocol);
            if (!made)
                spdlog::warn(
                    "{}: the kernel makes no VLAN device ({}): transit works with static neighbours, the "
                    "router itself cannot be reached there",
                    wanted.name, made.error().to_string());
        }
    }
    const auto interface =
        routing_.add_interface(wanted.name, port.port, wanted.vlan, wanted.vlan_protocol, keep_id);
    if (!interface) return tl::unexpected(interface.error());
    port.interface = *interface;
    Port& added = ports_.insert_or_assign(wanted.name, std::move(port)).first->second;
    transaction.on_rollback([this, name = wanted.name] { remove(name, false); });

    if (link) added.ifindex = link->ifindex;
    if (link) take_role(added);
    update_link(added);
    if (auto up = set_up(added, &transaction); !up) return up;
    for (const auto& address : state_.addresses(added.ifindex))
        routing_.add_address(added.interface, address.address, address.broadcast);
    for (const auto& neighbour : state_.neighbours())
        if (neighbour.ifindex == added.ifindex)
            routing_.set_neighbour(added.interface, neighbour.address,
                                   {neighbour.mac, neighbour.state, false});
    return add_addresses(added, wanted.addresses, &transaction);
}

Result<void> Ports::change(const config::Interface& wanted, Transaction& transaction) {
    Port& port = ports_.at(wanted.name);
    const config::Interface before = std::exchange(port.config, wanted);
    transaction.on_rollback([this, before] { ports_.at(before.name).config = before; });
    if (wanted.mtu != before.mtu)
        if (auto up = set_up(port, &transaction); !up) return up;

    std::vector<InterfaceAddress> added;
    std::ranges::copy_if(wanted.addresses, std::back_inserter(added),
                         [&](const auto& address) { return !contains(before.addresses, address); });
    if (auto done = add_addresses(port, added, &transaction); !done) return done;
    transaction.on_commit([this, name = wanted.name, before = before.addresses] {
        Port& changed = ports_.at(name);
        for (const auto& address : before) {
            if (contains(changed.config.addresses, address)) continue;
            if (changed.ifindex != 0) (void)kernel_.remove_address(changed.ifindex, address);
            routing_.remove_address(changed.interface, address);
        }
    });
    if (!is_port(wanted) || !port.attachment) return {};
    if (wanted.xdp_mode != before.xdp_mode) {
        // A link keeps the mode it was made with, so the port is without a program for a moment.
        dataplane_.detach(port.port);
        port.attachment.reset();
        transaction.on_rollback([this, name = wanted.name] {
            Port& again = ports_.at(name);
            if (!again.attachment) (void)attach(again);
        });
    } else if (wanted.forwarding != before.forwarding) {
        // Another program on the same link: no packet passes without one.
        transaction.on_rollback([this, before] {
            Port& again = ports_.at(before.name);
            again.config = before;
            (void)attach(again);
        });
        if (auto attached = attach(port); !attached) return attached;
    }
    return {};
}

Result<void> Ports::attach_all(Transaction& transaction) {
    std::vector<Port*> unattached;
    for (auto& [name, port] : ports_)
        if (is_port(port.config) && !port.attachment && port.ifindex != 0) unattached.push_back(&port);
    for (const Port* port : unattached)
        if (auto prepared = dataplane_.prepare(port->port, port->ifindex, port->config); !prepared)
            return prepared;
    for (Port* port : unattached) {
        if (auto attached = attach(*port); !attached) return attached;
        if (port->attachment->adopted) continue;
        transaction.on_rollback([this, name = port->config.name] {
            if (const auto found = ports_.find(name); found != ports_.end()) {
                dataplane_.detach(found->second.port);
                found->second.attachment.reset();
            }
        });
    }
    make_modes_alike();
    return {};
}

// A port in native mode cannot redirect to a device whose driver knows nothing of XDP: the frame would be
// lost without a trace. So where one port had to go generic, the ports that may be either go with it.
void Ports::make_modes_alike() {
    const auto forced = [](const auto& entry) {
        return entry.second.attachment && !entry.second.attachment->why_generic.empty();
    };
    const auto culprit = std::ranges::find_if(ports_, forced);
    if (culprit == ports_.end()) return;
    for (auto& [name, port] : ports_) {
        if (!port.attachment || port.attachment->mode == AttachMode::generic ||
            port.config.xdp_mode != config::XdpMode::automatic)
            continue;
        spdlog::warn("{}: generic mode, too, since {} could not be reached from native mode", name,
                     culprit->first);
        dataplane_.detach(port.port);
        port.attachment.reset();
        config::Interface generic = port.config;
        generic.xdp_mode = config::XdpMode::generic;
        auto attached = dataplane_.attach(port.port, port.ifindex, generic);
        if (!attached) {
            spdlog::error("{}; trying again", attached.error().to_string());
            continue;
        }
        port.attachment = *attached;
    }
}

Result<void> Ports::attach(Port& port) {
    auto attached = dataplane_.attach(port.port, port.ifindex, port.config);
    if (!attached) return tl::unexpected(attached.error());
    port.attachment = *attached;
    port.failure_told = false;
    const auto mode = to_string(attached->mode);
    if (attached->adopted)
        spdlog::info("{}: took over the running port stage ({} mode)", port.config.name, mode);
    else
        spdlog::info("{}: port stage attached ({} mode)", port.config.name, mode);
    if (!attached->why_no_dispatcher.empty())
        spdlog::warn("{}: {}; it has the device to itself, by a plain BPF link", port.config.name,
                     attached->why_no_dispatcher);
    if (attached->mode == AttachMode::generic && !attached->why_generic.empty())
        spdlog::warn("{}: native XDP refused ({}), so it runs in generic mode, which is slower",
                     port.config.name, attached->why_generic);
    return {};
}

void Ports::remove(const std::string& name, bool addresses) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) return;
    give_role_back(found->second);
    const Port port = found->second;
    if (is_port(port.config)) dataplane_.detach(port.port);
    if (addresses && port.ifindex != 0)
        for (const auto& address : port.config.addresses)
            (void)kernel_.remove_address(port.ifindex, address);
    routing_.remove_interface(port.interface);
    ports_.erase(found);
}

void Ports::link_changed(const LinkEvent& link) {
    if (const auto found = ports_.find(link.name); found != ports_.end()) bind(found->second, link);
    // A device that was renamed is no longer the one that was configured.
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex && name != link.name) unbind(port);
    // VLANs without a device of their own live on their parent's state.
    for (auto& [name, port] : ports_)
        if (port.config.parent == link.name) update_link(port);
}

void Ports::link_removed(const LinkEvent& link) {
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex) unbind(port);
}

void Ports::bind(Port& port, const LinkEvent& link) {
    if (port.ifindex == link.ifindex) return update_link(port);
    spdlog::info("{}: device is here (index {})", link.name, link.ifindex);
    port.ifindex = link.ifindex;
    take_role(port);
    update_link(port);
    if (auto up = set_up(port, nullptr); !up) spdlog::error("{}", up.error().to_string());
    if (auto added = add_addresses(port, port.config.addresses, nullptr); !added)
        spdlog::error("{}", added.error().to_string());
    retry();
}

void Ports::unbind(Port& port) {
    spdlog::warn("{}: device is gone", port.config.name);
    if (is_port(port.config)) dataplane_.detach(port.port);
    port.attachment.reset();
    port.ifindex = 0;
    port.switches_before.clear();  // they went with the device
    port.vlan_offload_before = false;
    update_link(port);
    for (auto& [name, vlan] : ports_)
        if (vlan.config.parent == port.config.name) update_link(vlan);
}

void Ports::retry() {
    for (auto& [name, port] : ports_) {
        if (!is_port(port.config) || port.attachment || port.ifindex == 0) continue;
        if (auto attached = attach(port); !attached && !std::exchange(port.failure_told, true))
            spdlog::error("{}; trying again", attached.error().to_string());
    }
    make_modes_alike();
}

std::map<std::string, PortId> Ports::names() const {
    std::map<std::string, PortId> names;
    for (const auto& [name, port] : ports_)
        if (is_port(port.config)) names.emplace(name, port.port);
    return names;
}

const Ports::Port* Ports::by_interface(InterfaceId id) const {
    const auto found =
        std::ranges::find_if(ports_, [&](const auto& entry) { return entry.second.interface == id; });
    return found == ports_.end() ? nullptr : &found->second;
}

// The same device keeps the id an earlier daemon gave it, and with it its counters.
Result<PortId> Ports::choose_port(uint32_t ifindex) const {
    const auto& previous = dataplane_.previous_ports();
    const auto taken = [&](PortId id) {
        return std::ranges::any_of(ports_, [&](const auto& entry) { return entry.second.port == id; });
    };
    if (const auto known = previous.find(ifindex); known != previous.end() && !taken(known->second))
        return known->second;
    for (PortId id = 1; id < PP_MAX_PORTS; id++) {
        const bool reserved =
            std::ranges::any_of(previous, [&](const auto& entry) { return entry.second == id; });
        if (taken(id) || reserved) continue;
        dataplane_.reset_counters(id);
        return id;
    }
    return fail("/interfaces", "too many ports", "at most " + std::to_string(PP_MAX_PORTS - 1));
}

Result<void> Ports::set_up(const Port& port, Transaction* transaction) {
    if (port.ifindex == 0) return {};
    const LinkEvent* link = state_.link(port.ifindex);
    const bool mtu_fits = !port.config.mtu || (link && link->mtu == *port.config.mtu);
    if (link && link->admin_up && mtu_fits) return {};
    if (auto set = kernel_.set_link(port.ifindex, true, mtu_fits ? std::nullopt : port.config.mtu); !set)
        return set;
    if (transaction && link)
        transaction->on_rollback(
            [this, before = *link] { (void)kernel_.set_link(before.ifindex, before.admin_up, before.mtu); });
    return {};
}

Result<void> Ports::add_addresses(Port& port, const std::vector<InterfaceAddress>& addresses,
                                  Transaction* transaction) {
    for (const auto& address : addresses) {
        const auto known = state_.addresses(port.ifindex);
        const bool there =
            std::ranges::any_of(known, [&](const auto& own) { return own.address == address; });
        if (port.ifindex != 0 && !there) {
            if (auto added = kernel_.add_address(port.ifindex, address); !added) return added;
            if (transaction)
                transaction->on_rollback([this, ifindex = port.ifindex, address] {
                    (void)kernel_.remove_address(ifindex, address);
                });
        }
        if (contains(routing_.interfaces().find(port.interface)->addresses, address)) continue;
        routing_.add_address(port.interface, address, std::nullopt);
        if (transaction)
            transaction->on_rollback(
                [this, id = port.interface, address] { routing_.remove_address(id, address); });
    }
    return {};
}

// What forwarding needs to know of the device: its own state, or for a VLAN without a device its parent's.
void Ports::update_link(Port& port) {
    const LinkEvent* own = port.ifindex ? state_.link(port.ifindex) : nullptr;
    LinkState state;
    if (own) state = {own->ifindex, own->up, own->mac, own->mtu};
    if (!is_port(port.config)) {
        const auto parent = ports_.find(*port.config.parent);
        const LinkEvent* below =
            parent != ports_.end() && parent->second.ifindex ? state_.link(parent->second.ifindex) : nullptr;
        if (!below)
            state.up = false;
        else if (!own)
            state = {0, below->up, below->mac, port.config.mtu.value_or(below->mtu)};
    }
    routing_.set_link(port.interface, state);
}

}  // namespace pktpit::router
