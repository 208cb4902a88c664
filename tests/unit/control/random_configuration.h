// SPDX-License-Identifier: BSD-3-Clause
/// Random configurations that make sense by themselves, for devices eth0 to eth3 (the last without native
/// XDP) and VLANs on them; of `device` kind they name what each port stands for, too.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "config/config.h"

namespace pktpit::router::fake {

class RandomConfiguration {
  public:
    RandomConfiguration(uint32_t seed, bool own_devices)
        : random_(seed),
          vrf_random_(seed + 1000),
          filter_random_(seed + 2000),
          guard_random_(seed + 3000),
          source_random_(seed + 4000),
          vlan_random_(seed + 5000),
          own_devices_(own_devices) {}

    config::Config next() {
        config::Config config;
        config.kernel_routes.enabled = one_in(2);
        config.kernel_routes.table = one_in(3) ? 100 : 254;
        config.kernel_routes.preference = one_in(2) ? 20 : 5;
        config.routing.resolve_via_default = one_in(2);
        if (one_in(2)) config.hash_seed = below(3);
        config.icmp.rate = 1000 + below(3);
        config.neighbour_queue = 64 + below(3);
        config.heartbeat.worker_ms = 20 + below(3);
        config.heartbeat.on_daemon_loss =
            below(2) ? config::OnDaemonLoss::kernel : config::OnDaemonLoss::forward;
        for (uint32_t i = 0; i < 4; i++)
            if (!one_in(4)) add_port(config, i);
        for (uint32_t i = 0; i < 3; i++)
            if (one_in(2)) add_vlan(config, "v" + std::to_string(i), 10 + i);
        // What was a port by itself may become a VLAN of another one.
        if (!config.interfaces.contains("eth1") && one_in(2) && !own_devices_) add_vlan(config, "eth1", 20);
        for (uint32_t i = below(4); i > 0; i--)
            add_neighbour(config);
        for (uint32_t i = below(6); i > 0; i--)
            config.routes.push_back(route(config));
        stack_vlans(config);
        add_vrfs(config);
        add_filters(config);
        add_guards(config);
        add_sources(config);
        return config;
    }

    /// zebra, and whether configured routes stand in the kernel's table, too.
    void add_sources(config::Config& config) {
        const auto below = [&](uint32_t count) { return static_cast<uint32_t>(source_random_() % count); };
        config.kernel_routes.install = below(4) != 0;
        config::Fpm& fpm = config.fpm;
        fpm.enabled = below(4) != 0;
        if (!fpm.enabled) return;
        fpm.address = address("127.0.0.1");
        fpm.port = static_cast<uint16_t>(2620 + below(2));
        if (below(3) == 0) fpm.from = {prefix(below(2) == 0 ? "127.0.0.0/8" : "10.0.0.0/8")};
        fpm.table = below(4) == 0 ? 100 : 254;
        fpm.preference = static_cast<uint8_t>(20 + below(2));
    }

    /// Some VLANs share an outer tag, some carry others, some have the other protocol.
    void stack_vlans(config::Config& config) {
        const auto one_of = [&](uint32_t count) { return vlan_random_() % count == 0; };
        std::set<std::pair<std::string, std::vector<uint16_t>>> taken;
        for (auto& [name, interface] : config.interfaces) {
            if (!interface.parent) continue;
            std::vector<uint16_t> tags = interface.vlan;
            if (one_of(3))
                tags = one_of(3) ? std::vector<uint16_t>{500} : std::vector<uint16_t>{500, tags[0]};
            if (taken.contains({*interface.parent, tags})) tags = interface.vlan;
            taken.emplace(*interface.parent, tags);
            interface.vlan = tags;
            if (one_of(4)) interface.vlan_protocol = 0x88a8;
        }
    }

    void add_guards(config::Config& config) {
        const auto one_of = [&](uint32_t count) { return guard_random_() % count == 0; };
        if (one_of(3)) config.host_police.bgp = 1 + guard_random_() % 3;
        for (auto& [name, interface] : config.interfaces) {
            if (one_of(3)) interface.rpf = one_of(2) ? config::Rpf::strict : config::Rpf::loose;
            if (one_of(3)) interface.police_in = config::Rate{1'000'000 * (1 + guard_random_() % 3), 32'768};
        }
    }

    /// Two filters, of one to three rules each, on some of the interfaces.
    void add_filters(config::Config& config) {
        const auto one_of = [&](uint32_t count) { return filter_random_() % count == 0; };
        if (one_of(3)) return;
        for (const char* name : {"f", "g"}) {
            config::Filter& filter = config.filters[name];
            for (uint64_t rules = 1 + filter_random_() % 3; rules > 0; rules--) {
                config::FilterRule rule;
                rule.action = one_of(2) ? config::FilterAction::drop : config::FilterAction::accept;
                rule.source = prefix("20." + std::to_string(filter_random_() % 3) + ".0.0/16");
                filter.push_back(rule);
            }
        }
        for (auto& [name, interface] : config.interfaces) {
            if (one_of(3)) interface.filter_in = one_of(2) ? "f" : "g";
            if (one_of(3)) interface.filter_out = one_of(2) ? "f" : "g";
        }
    }

    config::StaticRoute route(const config::Config& config) {
        config::StaticRoute route;
        route.prefix = prefix("20." + std::to_string(below(8)) + ".0.0/16");
        if (one_in(8)) route.prefix = prefix("0.0.0.0/0");
        route.preference = static_cast<uint8_t>(5 + below(3));
        route.counters = one_in(3);
        if (one_in(6)) {
            route.type = config::RouteType::blackhole;
            return route;
        }
        if (one_in(4)) route.mtu = 1300 + 100 * below(4);
        for (uint32_t hops = 1 + below(3); hops > 0; hops--) {
            config::NextHop hop{address(gateway()), {}, static_cast<uint16_t>(1 + below(3))};
            if (one_in(3) && !config.interfaces.empty()) hop.interface = some_interface(config);
            if (std::ranges::find(route.next_hops, hop) == route.next_hops.end())
                route.next_hops.push_back(hop);
        }
        if (one_in(3)) {
            config::NextHop hop{address(gateway()), {}, static_cast<uint16_t>(1 + below(3))};
            if (one_in(2) && !config.interfaces.empty()) hop.interface = some_interface(config);
            route.backup.push_back(hop);
        }
        return route;
    }
    /// A host on one of the nets that interfaces may have.
    std::string gateway() {
        return "10." + std::to_string(below(7)) + "." + std::to_string(below(2)) + "." +
               std::to_string(10 + below(3));
    }
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
    bool one_in(uint32_t count) { return below(count) == 0; }

    static IpAddress address(const std::string& text) { return IpAddress::parse(text).value(); }
    static Prefix prefix(const std::string& text) { return Prefix::parse(text).value(); }

  private:
    void add_port(config::Config& config, uint32_t i) {
        config::Interface port;
        port.name = "eth" + std::to_string(i);
        port.xdp_mode = one_in(3) ? config::XdpMode::generic : config::XdpMode::automatic;
        if (one_in(6)) port.xdp_mode = config::XdpMode::native;
        port.forwarding = static_cast<config::Forwarding>(below(3));
        if (own_devices_) port.device = one_in(2) ? "a" : "b";
        set_up(port, i);
        config.interfaces[port.name] = port;
    }
    void add_vlan(config::Config& config, const std::string& name, uint32_t vid) {
        std::vector<std::string> ports;
        for (const auto& [parent, interface] : config.interfaces)
            if (!interface.parent) ports.push_back(parent);
        if (ports.empty()) return;
        config::Interface vlan;
        vlan.name = name;
        vlan.parent = ports[below(static_cast<uint32_t>(ports.size()))];
        vlan.vlan = {static_cast<uint16_t>(vid + (one_in(4) ? 100 : 0))};
        if (one_in(5)) vlan.vlan.push_back(7);
        set_up(vlan, 4 + vid % 10);
        config.interfaces[name] = vlan;
    }
    void set_up(config::Interface& interface, uint32_t net) {
        if (one_in(2)) interface.mtu = one_in(2) ? 1400 : 9000;
        const auto add = [&](const std::string& address) {
            interface.addresses.push_back(InterfaceAddress::parse(address).value());
        };
        for (uint32_t i = 0; i < 2; i++)
            if (!one_in(3))
                add("10." + std::to_string(net) + "." + std::to_string(i) + (one_in(3) ? ".7/24" : ".1/24"));
        if (one_in(3)) add("2001:db8:" + std::to_string(net) + "::1" + (one_in(3) ? "/56" : "/64"));
    }
    /// By a generator of its own: what else is drawn does not change by it.
    void add_vrfs(config::Config& config) {
        const auto draw = [this](uint32_t bound) { return static_cast<uint32_t>(vrf_random_() % bound); };
        std::vector<std::string> names{""};
        for (const char* name : {"red", "blue"}) {
            if (draw(2) == 0) continue;
            config.vrfs[name].table = 200 + draw(2) * 10 + (name[0] == 'r' ? 0 : 1);
            names.emplace_back(name);
        }
        const auto some = [&] { return names[draw(static_cast<uint32_t>(names.size()))]; };
        for (auto& [name, interface] : config.interfaces)
            interface.vrf = some();
        for (auto& route : config.routes) {
            route.vrf = some();
            if (!route.vrf.empty()) route.counters = false;
            for (auto* hops : {&route.next_hops, &route.backup})
                for (auto& hop : *hops)
                    if (!hop.interface && draw(3) == 0) hop.vrf = some();
        }
        for (const char* name : {"job1", "job2"})
            if (draw(2) == 0) config.aggregation[name].port = static_cast<uint16_t>(5005 + draw(2));
    }
    void add_neighbour(config::Config& config) {
        if (config.interfaces.empty()) return;
        config::StaticNeighbour neighbour{
            address(gateway()), {{2, 0, 0, 9, 0, static_cast<uint8_t>(below(3))}}, some_interface(config)};
        for (const auto& known : config.neighbours)
            if (known.address == neighbour.address && known.interface == neighbour.interface) return;
        config.neighbours.push_back(neighbour);
    }
    std::string some_interface(const config::Config& config) {
        return std::next(config.interfaces.begin(), below(static_cast<uint32_t>(config.interfaces.size())))
            ->first;
    }

    std::mt19937 random_;
    std::mt19937 vrf_random_;
    std::mt19937_64 filter_random_;  ///< of its own, as that of VRFs is: what a seed stood for stays
    std::mt19937 guard_random_;
    std::mt19937 source_random_;
    std::mt19937 vlan_random_;
    bool own_devices_;
};

}  // namespace pktpit::router::fake
