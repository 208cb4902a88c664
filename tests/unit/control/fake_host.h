// SPDX-License-Identifier: BSD-3-Clause
/// A Linux host without Linux: devices with addresses, neighbours and switches, routes; and connections to it
/// that get its events, as netlink's do. Every call may be made to fail (faults.h).
#pragma once

#include <linux/rtnetlink.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
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

    void compare() override { compare_is_due_ = true; }
    void tell(const KernelEvent& event) { events_.push_back(event); }

  private:
    Host& host_;
    RouteFilter filter_;
    int descriptor_;
    std::deque<KernelEvent> events_;  ///< also those of a dump that is under way
    bool dump_is_due_ = false;
    bool compare_is_due_ = false;
    KernelCounters counters_;
};

class Host : public HostSwitches {
  public:
    struct Device {
        LinkEvent link;
        std::map<InterfaceAddress, AddressEvent> addresses;
        std::vector<InterfaceAddress> order;  ///< in which the addresses came
        std::map<IpAddress, NeighbourEvent> neighbours;
        std::set<Prefix> deleted;  ///< prefix routes, by hand
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
            std::erase_if(device_routes, [&](const auto& route) { return by(route) == gone.ifindex; });
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
        set_address(event);
    }
    void set_address(const AddressEvent& event) {
        Device& on = devices.at(event.ifindex);
        if (on.addresses.insert_or_assign(event.address, event).second) on.order.push_back(event.address);
        tell(event);
        keep_device_routes(event.ifindex);
    }
    /// Its next hop is the device alone.
    RouteEvent device_route(uint32_t ifindex, const Prefix& prefix, uint8_t type, uint32_t metric = 0) {
        RouteEvent route;
        route.prefix = prefix;
        route.table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
        route.protocol = RTPROT_KERNEL;
        route.type = type;
        route.metric = metric;
        route.creates = true;
        route.next_hops = {{ifindex, std::nullopt, 1, false}};
        return route;
    }
    void set_route(const RouteEvent& route) {
        device_routes.push_back(route);
        by_hand.insert({by(route), route.prefix});
        tell(route);
    }
    void delete_route(const RouteEvent& route) {
        devices.at(by(route)).deleted.insert(route.prefix);
        by_hand.erase({by(route), route.prefix});
        drop_device_routes([&](const RouteEvent& other) { return is_same(route, other); });
    }
    /// What the kernel makes of a device's addresses, and unmakes, in its words (fib_add_ifaddr()). IPv4 ones
    /// go silently with IFF_UP.
    void keep_device_routes(uint32_t ifindex, bool set_down = false) {
        Device& on = devices.at(ifindex);
        std::vector<RouteEvent> wanted;
        std::set<Prefix> primary;
        for (const auto& own : on.order) {
            const AddressEvent& event = on.addresses.at(own);
            const unsigned bits = own.address.bits();
            wanted.push_back(device_route(ifindex, Prefix::of(own.address, bits), RTN_LOCAL));
            if (own.address.is_v4() && !primary.insert(event.net()).second) continue;
            if (!on.link.admin_up || !event.prefix_route) continue;
            const uint32_t metric = event.metric == 0 && own.address.is_v6() ? 256 : event.metric;
            if (own.length != bits || (own.address.is_v4() && event.peer))
                wanted.push_back(device_route(ifindex, own.address.is_v4() ? event.net() : own.net(),
                                              RTN_UNICAST, metric));
            if (own.address.is_v6() && event.peer)
                wanted.push_back(device_route(ifindex, Prefix::of(*event.peer, bits), RTN_UNICAST, metric));
        }
        const auto among = [](const auto& some, const RouteEvent& route) {
            return std::ranges::any_of(some, [&](const auto& other) { return is_same(route, other); });
        };
        if (set_down) {
            on.deleted.clear();
            std::erase_if(by_hand, [&](const auto& entry) { return entry.first == ifindex; });
            std::erase_if(device_routes, [&](const auto& route) {
                return by(route) == ifindex && route.type == RTN_UNICAST && route.prefix.address.is_v4();
            });
        }
        drop_device_routes([&](const RouteEvent& route) {
            return by(route) == ifindex && !by_hand.contains({ifindex, route.prefix}) &&
                   !among(wanted, route);
        });
        for (const auto& route : wanted)
            if (!among(device_routes, route) && !on.deleted.contains(route.prefix)) {
                device_routes.push_back(route);
                tell(route);
            }
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
        keep_device_routes(ifindex);
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
    std::vector<RouteEvent> device_routes;  ///< in the order in which they came
    std::set<std::pair<uint32_t, Prefix>> by_hand;
    std::map<std::pair<uint32_t, Prefix>, HostRoute> installed;  ///< ours, by table and prefix
    std::vector<HostKernel*> connections;

  private:
    friend HostKernel;
    friend class HostRoutes;
    static uint32_t by(const RouteEvent& route) { return route.next_hops.front().ifindex; }
    static bool is_same(const RouteEvent& a, const RouteEvent& b) {
        return by(a) == by(b) && a.prefix == b.prefix && a.table == b.table && a.metric == b.metric;
    }
    template <class Unwanted>
    void drop_device_routes(Unwanted unwanted) {
        std::vector<RouteEvent> gone;
        std::erase_if(device_routes, [&](const auto& route) {
            if (!unwanted(route)) return false;
            gone.push_back(route);
            return true;
        });
        for (RouteEvent& route : gone) {
            route.removed = true;
            route.creates = false;
            tell(route);
        }
    }
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
    Result<void> remove_former(uint32_t table, const Prefix& prefix) override {
        return fail(prefix.to_string(), "no earlier version left a route in table " + std::to_string(table));
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

}  // namespace pktpit::router::fake

#include "tests/unit/control/fake_host_kernel.h"
