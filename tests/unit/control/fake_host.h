// SPDX-License-Identifier: BSD-3-Clause
/// A Linux host without Linux: devices with addresses, neighbours and switches, routes; and connections to it
/// that get its events, as netlink's do. Every call may be made to fail (faults.h).
#pragma once

#include <linux/rtnetlink.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/control/host_switches.h"
#include "router/kernel/kernel.h"
#include "router/kernel/route_writer.h"
#include "tests/unit/control/faults.h"

namespace pktpit::router::fake {

class Host;

/// One connection. Its descriptor is a number, which nobody reads.
class HostKernel : public Kernel {
  public:
    HostKernel(Host& host, RouteFilter filter);
    ~HostKernel() override;
    [[nodiscard]] int descriptor() const override { return descriptor_; }
    Result<void> dump(const Deliver& deliver) override;
    Result<void> poll(const Deliver& deliver) override;
    void begin_dump() override { dump_is_due_ = true; }
    Result<bool> work(const Deliver& deliver, Turn& turn) override;
    [[nodiscard]] KernelCounters counters() const override { return counters_; }
    Result<void> probe_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) override;
    Result<void> set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                     const MacAddress& mac) override;
    Result<void> remove_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> add_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<std::vector<InterfaceAddress>> addresses(uint32_t ifindex) override;
    Result<void> remove_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<void> set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) override;
    Result<uint32_t> add_vlan_link(const VlanPlace& place, const std::string& alias) override;
    Result<void> remove_vlan_link(uint32_t ifindex) override;

    void tell(const KernelEvent& event) { events_.push_back(event); }

  private:
    Host& host_;
    RouteFilter filter_;
    int descriptor_;
    std::deque<KernelEvent> events_;  ///< also those of a dump that is under way
    bool dump_is_due_ = false;
    KernelCounters counters_;
};

class Host : public HostSwitches {
  public:
    struct Device {
        LinkEvent link;
        std::map<InterfaceAddress, AddressEvent> addresses;
        std::vector<InterfaceAddress> order;  ///< in which the addresses came
        std::map<IpAddress, NeighbourEvent> neighbours;
        bool receive_vlan_offload = true;
    };
    explicit Host(Faults& faults) : faults_(faults) {}

    uint32_t add_device(const std::string& name, const std::string& kind = "") {
        LinkEvent link;
        link.name = name;
        link.kind = kind;
        return add_device(std::move(link));
    }
    uint32_t add_vlan_device(const VlanPlace& place, const std::string& alias = "") {
        LinkEvent link;
        link.name = place.name;
        link.kind = "vlan";
        link.parent = place.parent;
        link.vlan_id = place.vid;
        link.vlan_protocol = place.protocol;
        link.alias = alias;
        return add_device(std::move(link));
    }
    uint32_t add_device(LinkEvent link) {
        const std::string name = link.name;
        Device device;
        device.link = std::move(link);
        device.link.ifindex = ++last_ifindex_;
        device.link.mtu = 1500;
        device.link.ethernet = true;
        device.link.mac = {{2, 0, 0, 0, 1, static_cast<uint8_t>(std::hash<std::string>()(name))}};
        for (const char* role : {"forwarding", "keep_addr_on_down"})
            sysctls["ipv6/conf/" + name + "/" + role] = "0";
        sysctls["ipv6/conf/" + name + "/disable_ipv6"] = "0";
        sysctls["ipv4/conf/" + name + "/promote_secondaries"] = "0";
        for (const char* family : {"ipv4", "ipv6"})
            sysctls[family + ("/neigh/" + name) + "/gc_stale_time"] = "60";
        tell(device.link);
        devices[last_ifindex_] = std::move(device);
        return last_ifindex_;
    }
    void remove_device(const std::string& name) {
        for (auto at = devices.begin(); at != devices.end(); ++at) {
            if (at->second.link.name != name) continue;
            LinkEvent gone = at->second.link;
            gone.removed = true;
            // VLAN devices go with the one below.
            std::vector<std::string> above;
            for (const auto& [ifindex, other] : devices)
                if (other.link.parent == gone.ifindex) above.push_back(other.link.name);
            for (const auto& vlan : above)
                remove_device(vlan);
            devices.erase(at);
            lose_installed(gone.ifindex);
            std::erase_if(sysctls, [&](const auto& entry) {
                return entry.first.find("/" + name + "/") != std::string::npos;
            });
            tell(gone);
            return;
        }
    }
    Device* device(const std::string& name) {
        for (auto& [ifindex, device] : devices)
            if (device.link.name == name) return &device;
        return nullptr;
    }
    void set_address(uint32_t ifindex, const InterfaceAddress& address, bool ours) {
        AddressEvent event;
        event.ifindex = ifindex;
        event.address = address;
        event.ours = ours;
        Device& on = devices.at(ifindex);
        if (on.addresses.insert_or_assign(address, event).second) on.order.push_back(address);
        tell(event);
    }
    /// With the first IPv4 address of a net the others of that net go, unless the device promotes them
    /// (__inet_del_ifa()).
    void lose_address(uint32_t ifindex, const InterfaceAddress& address) {
        Device& on = devices.at(ifindex);
        const auto same_net = [&](const auto& other) {
            return other.address.is_v4() && other.length == address.length && other.net() == address.net();
        };
        std::vector<InterfaceAddress> lost{address};
        if (address.address.is_v4() && *std::ranges::find_if(on.order, same_net) == address &&
            sysctls["ipv4/conf/" + on.link.name + "/promote_secondaries"] == "0")
            std::ranges::copy_if(on.order, std::back_inserter(lost),
                                 [&](const auto& other) { return other != address && same_net(other); });
        for (const auto& each : lost) {
            AddressEvent gone = on.addresses.extract(each).mapped();
            std::erase(on.order, each);
            gone.removed = true;
            tell(gone);
        }
    }
    void put_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac,
                       NeighbourState state) {
        const NeighbourEvent event{false, ifindex, address, mac, state};
        devices.at(ifindex).neighbours[address] = event;
        tell(event);
    }
    void tell(const KernelEvent& event) {
        for (HostKernel* each : connections)
            each->tell(event);
    }

    // HostSwitches.
    std::optional<std::string> sysctl(const std::string& path) override {
        faults_.call_without_result("read " + path);
        const auto found = sysctls.find(path);
        return found == sysctls.end() ? std::nullopt : std::optional(found->second);
    }
    Result<void> set_sysctl(const std::string& path, const std::string& value) override {
        if (auto allowed = faults_.call("set " + path); !allowed) return allowed;
        if (sysctls.contains(path)) sysctls[path] = value;
        return {};
    }
    std::optional<bool> receive_vlan_offload(const std::string& name) override {
        faults_.call_without_result("read offload of " + name);
        const Device* found = device(name);
        return found ? std::optional(found->receive_vlan_offload) : std::nullopt;
    }
    Result<void> set_receive_vlan_offload(const std::string& name, bool on) override {
        if (auto allowed = faults_.call("set offload of " + name); !allowed) return allowed;
        if (Device* found = device(name)) found->receive_vlan_offload = on;
        return {};
    }

    /// Ours of the device go with it, or with its link, of which the kernel says nothing.
    void lose_installed(uint32_t ifindex) {
        std::erase_if(installed, [&](const auto& entry) {
            const auto& hops = entry.second.next_hops;
            return !hops.empty() &&
                   std::ranges::all_of(hops, [&](const auto& hop) { return hop.ifindex == ifindex; });
        });
    }

    bool vlan_devices = true;  ///< does the kernel have them?
    std::map<uint32_t, Device> devices;
    std::map<std::string, std::string> sysctls;
    std::vector<RouteEvent> routes;
    std::map<std::pair<uint32_t, Prefix>, HostRoute> installed;  ///< ours, by table and prefix
    std::vector<HostKernel*> connections;

  private:
    friend HostKernel;
    friend class HostRoutes;
    Faults& faults_;
    uint32_t last_ifindex_ = 0;
    int last_descriptor_ = 1000;
};

/// The host's tables, as far as routes in them are ours.
class HostRoutes : public RouteWriter {
  public:
    explicit HostRoutes(Host& host) : host_(host), descriptor_(++host.last_descriptor_) {}
    Result<void> add(const HostRoute& route) override {
        const std::string prefix = route.prefix.to_string();
        if (auto allowed = host_.faults_.call("install " + prefix); !allowed) return allowed;
        for (const auto& hop : route.next_hops)
            if (const auto on = host_.devices.find(hop.ifindex);
                on == host_.devices.end() || !on->second.link.up)
                return fail(prefix, "Network is down");
        if (!host_.installed.emplace(std::pair{route.table, route.prefix}, route).second)
            return fail(prefix, "File exists");
        return {};
    }
    Result<void> remove(uint32_t table, const Prefix& prefix) override {
        if (auto allowed = host_.faults_.call("withdraw " + prefix.to_string()); !allowed) return allowed;
        host_.installed.erase({table, prefix});
        return {};
    }
    Result<std::vector<HostRoute>> installed() override {
        if (auto allowed = host_.faults_.call("read installed"); !allowed)
            return tl::unexpected(allowed.error());
        std::vector<HostRoute> all;
        for (const auto& [place, route] : host_.installed)
            all.push_back(route);
        return all;
    }
    std::optional<uint8_t> goes_before(uint32_t, const Prefix& prefix) override {
        host_.faults_.call_without_result("what goes before " + prefix.to_string());
        return std::nullopt;
    }
    [[nodiscard]] int descriptor() const override { return descriptor_; }
    void poll(const Lost&) override {}

  private:
    Host& host_;
    int descriptor_;
};

inline HostKernel::HostKernel(Host& host, RouteFilter filter)
    : host_(host), filter_(std::move(filter)), descriptor_(++host.last_descriptor_) {
    host_.connections.push_back(this);
}

inline HostKernel::~HostKernel() {
    std::erase(host_.connections, this);
}

inline Result<void> HostKernel::dump(const Deliver& deliver) {
    if (auto allowed = host_.faults_.call("dump"); !allowed) return allowed;
    events_.clear();
    deliver(ResyncBegin{});
    for (const auto& [ifindex, device] : host_.devices)
        deliver(device.link);
    for (const auto& [ifindex, device] : host_.devices)
        for (const auto& [key, address] : device.addresses)
            deliver(address);
    for (const auto& [ifindex, device] : host_.devices)
        for (const auto& [key, neighbour] : device.neighbours)
            deliver(neighbour);
    if (filter_.enabled)
        for (RouteEvent route : host_.routes) {
            route.dumped = true;
            if (route.table == filter_.table) deliver(route);
        }
    deliver(ResyncEnd{});
    return {};
}

inline Result<void> HostKernel::poll(const Deliver& deliver) {
    if (auto allowed = host_.faults_.call("poll"); !allowed) return allowed;
    for (const auto& event : std::exchange(events_, {}))
        deliver(event);
    return {};
}

// A dump's events wait among the others, and are delivered in the same turns.
inline Result<bool> HostKernel::work(const Deliver& deliver, Turn& turn) {
    if (std::exchange(dump_is_due_, false)) {
        std::deque<KernelEvent> dumped;
        if (auto done = dump([&](const KernelEvent& event) { dumped.push_back(event); }); !done) {
            dump_is_due_ = true;
            return tl::unexpected(done.error());
        }
        events_ = std::move(dumped);
    }
    while (!events_.empty()) {
        const KernelEvent event = std::move(events_.front());
        events_.pop_front();
        deliver(event);
        if (turn.over()) return true;
    }
    return false;
}

inline Result<void> HostKernel::probe_neighbour(uint32_t, const IpAddress& address) {
    return host_.faults_.call("probe " + address.to_string());
}

inline Result<void> HostKernel::set_neighbour(uint32_t ifindex, const IpAddress& address,
                                              const MacAddress& mac) {
    if (auto allowed = host_.faults_.call("set neighbour " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    host_.put_neighbour(ifindex, address, mac, NeighbourState::permanent);
    return {};
}

inline Result<void> HostKernel::set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                                    const MacAddress& mac) {
    if (auto allowed = host_.faults_.call("set stale neighbour " + address.to_string()); !allowed)
        return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    host_.put_neighbour(ifindex, address, mac, NeighbourState::stale);
    return {};
}

inline Result<void> HostKernel::remove_neighbour(uint32_t ifindex, const IpAddress& address) {
    if (auto allowed = host_.faults_.call("remove neighbour " + address.to_string()); !allowed)
        return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    auto& neighbours = host_.devices.at(ifindex).neighbours;
    const auto found = neighbours.find(address);
    if (found == neighbours.end()) return {};
    NeighbourEvent gone = found->second;
    gone.removed = true;
    neighbours.erase(found);
    host_.tell(gone);
    return {};
}

inline Result<void> HostKernel::add_address(uint32_t ifindex, const InterfaceAddress& address) {
    if (auto allowed = host_.faults_.call("add " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    for (const auto& other : host_.devices.at(ifindex).order)
        if (!address.address.is_v4() && other.address == address.address && other != address)
            return fail("kernel",
                        "cannot add " + address.to_string() + ": it is there as " + other.to_string());
    host_.set_address(ifindex, address, true);
    return {};
}

inline Result<std::vector<InterfaceAddress>> HostKernel::addresses(uint32_t ifindex) {
    if (auto allowed = host_.faults_.call("read addresses"); !allowed) return tl::unexpected(allowed.error());
    const auto on = host_.devices.find(ifindex);
    return on == host_.devices.end() ? std::vector<InterfaceAddress>() : on->second.order;
}

inline Result<void> HostKernel::remove_address(uint32_t ifindex, const InterfaceAddress& address) {
    if (auto allowed = host_.faults_.call("remove " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    if (host_.devices.at(ifindex).addresses.contains(address)) host_.lose_address(ifindex, address);
    return {};
}

inline Result<void> HostKernel::set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) {
    if (auto allowed = host_.faults_.call("set link"); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    LinkEvent& link = host_.devices.at(ifindex).link;
    const LinkEvent before = link;
    link.up = link.admin_up = link.running = up;
    link.mtu = mtu.value_or(link.mtu);
    if (!up) host_.lose_installed(ifindex);
    if (link != before) host_.tell(link);
    return {};
}

inline Result<uint32_t> HostKernel::add_vlan_link(const VlanPlace& place, const std::string& alias) {
    if (auto allowed = host_.faults_.call("make VLAN device " + place.name); !allowed)
        return tl::unexpected(allowed.error());
    if (!host_.vlan_devices) return fail("kernel", "Unknown device type");
    if (!host_.devices.contains(place.parent)) return fail("kernel", "no device below " + place.name);
    if (host_.device(place.name)) return fail("kernel", place.name + " exists");
    for (const auto& [ifindex, other] : host_.devices)
        if (other.link.parent == place.parent && other.link.vlan_id == place.vid &&
            other.link.vlan_protocol == place.protocol)
            return fail("kernel", "VLAN device already exists: " + other.link.name);
    return host_.add_vlan_device(place, alias);
}

inline Result<void> HostKernel::remove_vlan_link(uint32_t ifindex) {
    const auto found = host_.devices.find(ifindex);
    const std::string name = found == host_.devices.end() ? "" : found->second.link.name;
    if (auto allowed = host_.faults_.call("remove VLAN device " + name); !allowed) return allowed;
    if (!name.empty()) host_.remove_device(name);
    return {};
}

}  // namespace pktpit::router::fake
