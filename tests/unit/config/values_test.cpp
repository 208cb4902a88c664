// SPDX-License-Identifier: BSD-3-Clause
// What a valid document turns into, and back.
#include <nlohmann/json.hpp>

#include <array>
#include <random>

#include "config/protocols.h"
#include "support.h"
#include "tests/sanitized.h"

namespace pktpit::config {
namespace {

using testing::ElementsAre;

TEST(Values, EveryKeyArrivesWhereItBelongs) {
    auto parsed = parse(test::text_of(TEST_DIRECTORY "/everything.json"), "/etc/pktpit");
    ASSERT_TRUE(parsed) << test::all_text(parsed.error());
    const Config& c = *parsed;
    EXPECT_EQ(c.instance, "lab-1");
    EXPECT_EQ(c.dataplane, "xdp");
    EXPECT_EQ(c.log_level, "debug");
    EXPECT_EQ(c.base_directory, "/etc/pktpit");
    EXPECT_EQ(c.neighbour_queue, 32U);
    EXPECT_EQ(c.neighbours_unresolved, 77U);
    EXPECT_TRUE(c.xdp_dispatcher);
    EXPECT_EQ(c.user, "pktpit");
    EXPECT_FALSE(c.seccomp);
    EXPECT_EQ(c.api, (Api{"netops", 8, {"/etc/pktpit", "/srv/pktpit"}}));
    EXPECT_TRUE(c.routing.resolve_via_default);
    EXPECT_EQ(c.hash_seed, 4294967295U);
    EXPECT_EQ(c.icmp, (Icmp{500, 5, 6, false}));
    EXPECT_EQ(c.fib, (FibLimits{64, 300, 400}));
    EXPECT_EQ(c.vfio, (Vfio{{MemoryKind::pci_bar, "0000:0b:00.0", 2, 16}, 4096, 128, 1024, Peer{512, 500}}));
    EXPECT_EQ(c.heartbeat, (Heartbeat{50, OnDaemonLoss::kernel, 7}));
    EXPECT_EQ(c.offload.fib_entries, 1000U);
    EXPECT_FALSE(c.offload.whole_table);
    EXPECT_EQ(c.dpdk, (Dpdk{{"--iova-mode=va", "-n", "4"},
                            {"net_null0"},
                            DpdkMemory::pages,
                            {MemoryKind::pci_bar, "0000:0c:00.0", 4, 8},
                            8191,
                            3072,
                            256,
                            2048}));
    EXPECT_EQ(c.model, (Model{"four-nics", "kakenhi", ModelTransfer::read}));
    EXPECT_EQ(c.workers, (Workers{2, {3, 1}, Polling::busy}));
    EXPECT_EQ(c.kernel_routes, (KernelRoutes{true, 100, {"bird", "200", "static"}, 30, false}));

    EXPECT_EQ(c.fpm, (Fpm{true,
                          *IpAddress::parse("::1"),
                          2621,
                          {*Prefix::parse("192.0.2.7/32"), *Prefix::parse("::1/128")},
                          77,
                          31,
                          9}));

    ASSERT_EQ(c.interfaces.size(), 5U);
    EXPECT_EQ(c.interfaces.at("v300").vrf, "red");
    EXPECT_EQ(c.vrfs, (std::map<std::string, Vrf>{{"red", {1000}}}));
    auto address = [](const char* text) { return *InterfaceAddress::parse(text); };
    EXPECT_EQ(c.interfaces.at("eth0"), (Interface{"eth0",
                                                  std::nullopt,
                                                  {},
                                                  0x8100,
                                                  {address("192.0.2.1/24"), address("2001:db8:0:1::1/64")},
                                                  1500,
                                                  XdpMode::generic,
                                                  Forwarding::split,
                                                  "",
                                                  PayloadPlace::automatic,
                                                  "",
                                                  std::nullopt,
                                                  "",
                                                  GenericVlan::accept,
                                                  "",
                                                  "to the provider",
                                                  "",
                                                  "",
                                                  Rpf::off,
                                                  std::nullopt,
                                                  1000}));
    EXPECT_EQ(c.interfaces.at("v300").rpf, Rpf::strict);
    EXPECT_EQ(c.interfaces.at("v300").police_in, (Rate{2'500'000, 40'000}));
    EXPECT_EQ(c.host_police, (HostPolice{500, 1000, 5000, 2000}));
    ASSERT_EQ(c.sflow.collectors.size(), 2U);
    EXPECT_EQ(c.sflow.collectors[1], (SflowCollector{*IpAddress::parse("2001:db8::9"), 6344}));
    EXPECT_EQ(c.sflow.header_bytes, 256U);
    EXPECT_EQ(c.sflow.counters_s, 7U);
    EXPECT_EQ(c.interfaces.at("eth1").generic_vlan, GenericVlan::refuse);
    EXPECT_EQ(c.interfaces.at("eth1").xdp_mode, XdpMode::native);
    EXPECT_EQ(c.interfaces.at("eth1").mtu, std::nullopt);
    EXPECT_EQ(c.interfaces.at("v200"), (Interface{"v200",
                                                  "eth1",
                                                  {200, 7},
                                                  0x88a8,
                                                  {address("fe80::1/64")},
                                                  std::nullopt,
                                                  XdpMode::automatic,
                                                  Forwarding::inline_,
                                                  "",
                                                  PayloadPlace::automatic,
                                                  "",
                                                  std::nullopt,
                                                  ""}));
    EXPECT_EQ(c.interfaces.at("v100").vlan_protocol, 0x8100);

    auto ip = [](const char* text) { return *IpAddress::parse(text); };
    auto prefix = [](const char* text) { return *Prefix::parse(text); };
    ASSERT_EQ(c.routes.size(), 5U);
    EXPECT_EQ(c.routes[0], (StaticRoute{prefix("10.0.0.0/8"),
                                        RouteType::unicast,
                                        {{ip("192.0.2.254"), "eth0", 1}},
                                        5,
                                        7,
                                        true,
                                        {},
                                        1400}));
    EXPECT_EQ(c.routes[1],
              (StaticRoute{prefix("2001:db8:8::/48"),
                           RouteType::unicast,
                           {{ip("2001:db8:0:1::2"), std::nullopt, 2}, {ip("fe80::2"), "v200", 1}},
                           10,
                           0,
                           false,
                           {{ip("fe80::3"), "v200", 1}}}));
    EXPECT_EQ(c.routes[2], (StaticRoute{prefix("172.16.0.0/12"), RouteType::prohibit, {}, 10, 0}));
    EXPECT_EQ(c.routes[3],
              (StaticRoute{prefix("100.64.0.0/10"), RouteType::unicast, {{std::nullopt, "eth1", 1}}, 10, 0}));

    EXPECT_EQ(c.routes[4].vrf, "red");
    EXPECT_THAT(c.routes[4].next_hops, ElementsAre(NextHop{ip("192.0.2.7"), std::nullopt, 1, std::nullopt},
                                                   NextHop{ip("192.0.2.8"), std::nullopt, 1, ""}));

    ASSERT_EQ(c.routes_files.size(), 2U);
    EXPECT_EQ(c.routes_files[1].vrf, "red");
    const RoutesFile& file = c.routes_files[0];
    EXPECT_EQ(file.path, "table.txt");
    EXPECT_EQ(path_of(file, c), "/etc/pktpit/table.txt");
    EXPECT_EQ(file.preference, 9);
    EXPECT_EQ(file.next_hops.size(), 3U);
    EXPECT_THAT(file.backup.at("1"), ElementsAre(NextHop{ip("192.0.2.5"), std::nullopt, 1}));
    EXPECT_THAT(file.backup.at("*"), ElementsAre(NextHop{ip("198.51.100.10"), std::nullopt, 1, ""}));
    EXPECT_THAT(file.next_hops.at("1"), ElementsAre(NextHop{ip("192.0.2.3"), std::nullopt, 1}));
    EXPECT_THAT(file.next_hops.at("2"), ElementsAre(NextHop{ip("192.0.2.4"), "eth0", 1}));
    EXPECT_THAT(file.next_hops.at("*"),
                ElementsAre(NextHop{ip("198.51.100.9"), std::nullopt, 4}, NextHop{std::nullopt, "eth0", 1}));
    EXPECT_THAT(c.neighbours, ElementsAre(StaticNeighbour{ip("192.0.2.254"),
                                                          *MacAddress::parse("02:00:00:00:00:fe"), "eth0"}));
}

TEST(Values, PathsOfRoutesFiles) {
    Config config;
    config.base_directory = "/etc/pktpit";
    EXPECT_EQ(path_of({"a/../b.txt", {}, 1}, config), "/etc/pktpit/b.txt");
    EXPECT_EQ(path_of({"/srv/b.txt", {}, 1}, config), "/srv/b.txt");
    config.base_directory = "";
    EXPECT_EQ(path_of({"b.txt", {}, 1}, config), "b.txt");
}

TEST(Values, ProtocolNamesAndNumbers) {
    for (int number = 0; number < 256; number++)
        EXPECT_EQ(protocol_number(protocol_name(static_cast<uint8_t>(number))), number);
    EXPECT_EQ(protocol_number("bird"), 12);
    EXPECT_EQ(protocol_number("200"), 200);
    for (const char* wrong : {"", "Bird", "256", "-1", "1 ", "0x10"})
        EXPECT_EQ(protocol_number(wrong), std::nullopt);
}

/// Random configurations that are valid by construction.
class Generator {
  public:
    explicit Generator(uint32_t seed) : random_(seed) {}

    Config next() {
        Config c;
        c.base_directory = "/base";
        c.instance = "i" + std::to_string(pick(1000));
        const char* levels[] = {"trace", "debug", "info", "warning", "error", "critical", "off"};
        c.log_level = levels[pick(7)];
        c.neighbour_queue = pick(4097);
        c.neighbours_unresolved = 1 + pick(65536);
        c.xdp_dispatcher = pick(2);
        c.icmp = {pick(10000001), pick(10000001), 1 + pick(10000000), pick(2) == 0};
        c.fib = {2 + pick(255), 16 + pick(1048561), 16 + pick(1048561)};
        c.kernel_routes = {
            pick(2) == 1, 1 + static_cast<uint32_t>(random_()) % 0xfffffffe, {}, preference(), pick(2) == 1};
        for (uint32_t i = pick(5); i > 0; i--)
            c.kernel_routes.protocols.push_back(protocol_name(uint8_t(i * 11)));
        c.routing.resolve_via_default = pick(2);
        if (pick(2))
            c.fpm = {true,
                     pick(2) ? *IpAddress::parse("127.0.0.9") : *IpAddress::parse("::1"),
                     static_cast<uint16_t>(1 + pick(65535)),
                     pick(2) ? std::vector<Prefix>{*Prefix::parse("10.0.0.0/8")} : std::vector<Prefix>{},
                     1 + pick(1000),
                     preference(),
                     1 + pick(86400)};
        if (pick(2)) c.hash_seed = static_cast<uint32_t>(random_());
        if (pick(3) == 0) {
            c.dataplane = "dpdk";
            c.dpdk = {pick(2) ? std::vector<std::string>{"-n", "4"} : std::vector<std::string>{},
                      pick(2) ? std::vector<std::string>{"net_null7"} : std::vector<std::string>{},
                      static_cast<DpdkMemory>(pick(3)),
                      {MemoryKind::nvme_cmb, "0000:ff:1f.7", 0, pick(65537)},
                      pick(4194304),
                      2048 + 1024 * pick(14),
                      64U << pick(7),
                      64U << pick(7)};
        } else if (pick(3) == 0) {
            c.dataplane = "model";
            c.model = {pick(2) ? "gen4-100g" : "two-nics", pick(2) ? "generic" : "smartio",
                       static_cast<ModelTransfer>(pick(3))};
        } else if (pick(2)) {
            c.dataplane = "vfio";
            const auto kind = static_cast<MemoryKind>(pick(5));
            const bool has_bar = kind == MemoryKind::pci_bar || kind == MemoryKind::vfio_region;
            c.vfio = {
                {kind, kind == MemoryKind::hugepages ? "" : "0000:ff:1f.7",
                 static_cast<uint8_t>(has_bar ? pick(6) : 0), pick(65537)},
                2048 + 1024 * pick(14),
                64U << pick(7),
                64U << pick(7),
                has_bar && pick(2) ? std::optional(Peer{16U << pick(9), 100 + pick(59901)}) : std::nullopt};
        } else {
            c.workers.count = 1 + pick(64);
            if (pick(2) == 0)
                for (uint32_t i = 0; i < c.workers.count; i++)
                    c.workers.cpus.push_back(static_cast<uint16_t>(3 * i));
        }
        c.workers.polling = static_cast<Polling>(pick(3));
        ports_ = 1 + pick(6);
        for (uint32_t i = 0; i < ports_; i++)
            add_port(c, i);
        for (uint32_t i = pick(20); i > 0; i--)
            c.routes.push_back(route(i));
        for (auto& one : c.routes) {
            one.counters = pick(4) == 0;
            if (one.type == RouteType::unicast && pick(3) == 0) one.mtu = 1280 + pick(9000);
        }
        for (uint32_t i = pick(3); i > 0; i--)
            c.routes_files.push_back(file(i));
        for (uint32_t i = pick(4); i > 0; i--)
            c.neighbours.push_back({v4(0, 100 + i), {{2, 0, 0, 0, 0, uint8_t(i)}}, "eth0"});
        if (pick(2)) add_vrfs(c);
        return c;
    }

  private:
    uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
    uint8_t preference() { return static_cast<uint8_t>(1 + pick(255)); }
    static IpAddress v4(uint32_t port, uint32_t host) {
        return IpAddress::v4(0x0a000000 | port << 16 | host);
    }
    static IpAddress v6(uint32_t port, uint32_t host) {
        IpAddress address = *IpAddress::parse("2001:db8::");
        address.bytes[7] = static_cast<uint8_t>(port);
        address.bytes[14] = static_cast<uint8_t>(host >> 8);
        address.bytes[15] = static_cast<uint8_t>(host);
        return address;
    }

    void add_port(Config& c, uint32_t i) {
        Interface one;
        one.name = "eth" + std::to_string(i);
        one.addresses = {{v4(i, 1), static_cast<uint8_t>(16 + pick(8))}, {v6(i, 1), 64}};
        if (c.dataplane == "vfio") {
            one.pci = "0000:0" + std::to_string(i) + ":00.0";
            if (!c.vfio.peer) one.payload = static_cast<PayloadPlace>(pick(2));
        } else if (c.dataplane == "dpdk") {
            one.device = "net_ring" + std::to_string(i) + ",nodeaction=x";
        } else if (c.dataplane == "model") {
            if (pick(2)) {
                one.wire = {"w" + std::to_string(i), "", "", std::nullopt, pick(2) == 1};
            } else {
                one.wire = {"",
                            pick(2) ? "in.pcap" : "",
                            pick(2) ? std::to_string(i) + ".pcap" : "",
                            {},
                            pick(2) == 1};
                if (pick(2)) one.wire->mac = MacAddress{{2, 0, 0, 0, 0, uint8_t(i)}};
            }
            if (pick(2)) one.nic_port = "nic0/" + std::to_string(i);
        } else {
            one.xdp_mode = static_cast<XdpMode>(pick(3));
            one.generic_vlan = static_cast<GenericVlan>(pick(2));
            one.forwarding = static_cast<Forwarding>(pick(3));
        }
        const uint32_t most_mtu = c.dataplane == "vfio"    ? c.vfio.slot_bytes
                                  : c.dataplane == "dpdk"  ? c.dpdk.slot_bytes
                                  : c.dataplane == "model" ? 1962
                                                           : 65535;
        if (pick(2)) one.mtu = 1280 + pick(most_mtu - 1279);
        for (uint32_t v = pick(3); v > 0; v--) {
            Interface vlan;
            vlan.name = one.name + "." + std::to_string(v);
            vlan.parent = one.name;
            vlan.vlan = {static_cast<uint16_t>(v)};
            if (pick(2)) vlan.vlan.push_back(static_cast<uint16_t>(1 + pick(4094)));
            vlan.vlan_protocol = pick(2) ? 0x88a8 : 0x8100;
            vlan.addresses = {{v4(64 + i * 4 + v, 1), 24}};
            if (pick(2)) vlan.mtu = 68 + pick(1200);
            c.interfaces[vlan.name] = vlan;
        }
        c.interfaces[one.name] = one;
    }

    void add_vrfs(Config& c) {
        c.vrfs = {{"red", {1 + pick(252)}}, {"b-2", {256 + pick(1000)}}};
        for (const auto& [name, vrf] : c.vrfs) {
            if (c.fpm.table == vrf.table) c.fpm.table = 254;
            if (c.kernel_routes.table == vrf.table) c.kernel_routes.table = 254;
        }
        const auto some = [this] { return std::array<std::string, 3>{"", "red", "b-2"}.at(pick(3)); };
        const auto look_up = [&](std::vector<NextHop>& hops) {
            for (NextHop& hop : hops)
                if (!hop.interface && pick(2)) hop.vrf = some();
        };
        for (auto& [name, one] : c.interfaces)
            one.vrf = some();
        for (auto& one : c.routes) {
            one.vrf = some();
            if (!one.vrf.empty()) one.counters = false;
            look_up(one.next_hops);
            look_up(one.backup);
        }
        for (auto& one : c.routes_files) {
            one.vrf = some();
            for (auto& [id, hops] : one.next_hops)
                look_up(hops);
        }
    }

    std::vector<NextHop> hops(bool is_v4) {
        std::vector<NextHop> out;
        for (uint32_t i = 1 + pick(5); i > 0; i--) {
            uint32_t port = pick(ports_);
            NextHop hop;
            if (pick(5)) hop.via = is_v4 ? v4(port, 1 + i) : v6(port, 1 + i);
            if (!hop.via || pick(2)) hop.interface = "eth" + std::to_string(port);
            hop.weight = static_cast<uint16_t>(1 + pick(65535));
            bool known = std::ranges::any_of(out, [&](const NextHop& other) {
                return other.via == hop.via && other.interface == hop.interface;
            });
            if (!known) out.push_back(hop);
        }
        return out;
    }

    /// Others than any of hops().
    std::vector<NextHop> backup(bool is_v4) {
        std::vector<NextHop> out;
        for (uint32_t i = pick(3); i > 0; i--) {
            uint32_t port = pick(ports_);
            NextHop hop;
            hop.via = is_v4 ? v4(port, 10 + i) : v6(port, 10 + i);
            if (pick(2)) hop.interface = "eth" + std::to_string(port);
            hop.weight = static_cast<uint16_t>(1 + pick(65535));
            out.push_back(hop);
        }
        return out;
    }

    StaticRoute route(uint32_t i) {
        StaticRoute out;
        bool is_v4 = pick(2);
        out.prefix = is_v4 ? Prefix::of(IpAddress::v4(0x14000000 + (i << 20)), 12 + pick(21))
                           : Prefix::of(v6(0x80 + i, pick(65536)), 64 + pick(65));
        out.type = static_cast<RouteType>(pick(4));
        if (out.type == RouteType::unicast) {
            out.next_hops = hops(is_v4);
            out.backup = backup(is_v4);
        }
        out.preference = preference();
        out.metric = static_cast<uint32_t>(random_());
        return out;
    }

    RoutesFile file(uint32_t i) {
        RoutesFile out;
        out.path = "tables/" + std::to_string(i) + " \u00e9.txt";
        bool is_v4 = pick(2);
        for (uint32_t id = 1 + pick(4); id > 0; id--)
            out.next_hops[id == 1 ? "*" : std::to_string(id)] = hops(is_v4);
        for (const auto& [id, unused] : out.next_hops)
            if (auto instead = backup(is_v4); !instead.empty()) out.backup[id] = instead;
        out.preference = preference();
        return out;
    }

    std::mt19937 random_;
    uint32_t ports_ = 1;
};

TEST(Values, RandomConfigurationsSurviveJson) {
    for (uint32_t seed = 0; seed < pktpit::test::rounds_of(400U); seed++) {
        Config config = Generator(seed).next();
        std::string text = to_json(config).dump(static_cast<int>(seed % 3) - 1);
        auto again = parse(text, config.base_directory);
        ASSERT_TRUE(again) << "seed " << seed << "\n" << test::all_text(again.error()) << text;
        ASSERT_EQ(*again, config) << "seed " << seed << "\n" << text;
        ASSERT_EQ(to_json(*again), to_json(config));
        ASSERT_THAT(describe_difference(config, *again), testing::IsEmpty());
    }
}

TEST(Values, EveryDifferenceBetweenRandomConfigurationsIsDescribed) {
    for (uint32_t seed = 0; seed < 100; seed++) {
        Config a = Generator(seed).next(), b = Generator(seed + 1000).next();
        EXPECT_FALSE(describe_difference(a, b).empty());
    }
}

}  // namespace
}  // namespace pktpit::config
