// SPDX-License-Identifier: BSD-3-Clause
#include "router_fixture.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace pktpit::router::test {

namespace {

fib::Capacity small() {
    return {.ports = 8,
            .vlans = 64,
            .groups = 64,
            .buckets = 256,
            .adjacencies = 64,
            .tables = 2,
            .roots = 0,
            .node_bytes = 1 << 20};
}

constexpr std::string_view macs[] = {"00:00:00:00:00:00", "02:00:00:00:00:01", "02:00:00:00:00:02",
                                     "02:00:00:00:00:02"};
constexpr uint16_t ports[] = {0, 1, 2, 2};

}  // namespace

bool FakeEnvironment::transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) {
    if (!transmit_works) return false;
    Sent& frame = sent.emplace_back();
    frame.port = port;
    for (const auto& part : parts)
        frame.bytes.insert(frame.bytes.end(), part.begin(), part.end());
    return true;
}

std::optional<IpAddress> FakeEnvironment::next_hop_of(uint32_t adjacency) const {
    const auto found = next_hops.find(adjacency);
    return found == next_hops.end() ? std::nullopt : std::optional(found->second);
}

std::optional<IpAddress> FakeEnvironment::address_in_net_of(uint16_t interface,
                                                            const IpAddress& address) const {
    const auto own = sources.find({interface, address.family, false});
    if (own == sources.end()) return std::nullopt;
    const auto net = Prefix::of(own->second, address.is_v4() ? 24 : 64);
    return net.contains(address) ? std::optional(own->second) : std::nullopt;
}

std::optional<IpAddress> FakeEnvironment::source_address(uint16_t interface, Family family,
                                                         bool link_local) const {
    const auto found = sources.find({interface, family, link_local});
    return found == sources.end() ? std::nullopt : std::optional(found->second);
}

std::optional<IpAddress> FakeEnvironment::router_address(Family family, uint16_t /*interface*/) const {
    const auto found = any_source.find(family);
    return found == any_source.end() ? std::nullopt : std::optional(found->second);
}

std::optional<pp_fib_adjacency> FakeEnvironment::link_of(uint16_t interface) const {
    const auto found = links.find(interface);
    return found == links.end() ? std::nullopt : std::optional(found->second);
}

std::optional<MacAddress> FakeEnvironment::neighbour(uint16_t interface, const IpAddress& address) const {
    const auto found = neighbours.find({interface, address});
    return found == neighbours.end() ? std::nullopt : std::optional(found->second);
}

std::span<std::byte> SmallRouter::aligned(std::vector<std::byte>& memory) {
    void* at = memory.data();
    size_t space = memory.size();
    return {static_cast<std::byte*>(std::align(64, fib::plan_geometry(small()).image_bytes, at, space)),
            space};
}

SmallRouter::SmallRouter()
    : memory(fib::plan_geometry(small()).image_bytes + 64),
      image(aligned(memory), fib::plan_geometry(small()), [] {}) {
    environment.view = {image.memory().data(), &image.geometry()};
    for (uint16_t port = 1; port <= 2; port++) {
        pp_fib_port value{};
        std::ranges::copy(mac(macs[port]).bytes, value.mac);
        value.flags = PP_PORT_UP;
        value.interface = port;
        image.set_port(port, value);
    }
    if (!image.set_vlan(2, PP_VLAN_SERVICE | 100, 200, 3)) throw std::runtime_error("VLAN");
    for (uint16_t interface = 1; interface <= 3; interface++) {
        const std::string n = std::to_string(interface);
        const std::string four = "10." + n + ".0.", six = "2001:db8:" + n + "::";
        environment.links[interface] = link(interface);
        environment.sources[{interface, Family::ipv4, false}] = ip(four + "1");
        environment.sources[{interface, Family::ipv6, false}] = ip(six + "1");
        environment.sources[{interface, Family::ipv6, true}] = ip("fe80::" + n);
        environment.broadcasts.insert(ip(four + "255"));
        const std::string neighbour_mac = "02:00:00:00:aa:0" + n;
        route(four + "0/24", interface, std::nullopt, PP_ADJ_GLEAN);
        route(four + "1/32", interface, std::nullopt, PP_ADJ_HOST);
        route(four + "255/32", interface, std::nullopt, PP_ADJ_BROADCAST);
        route(four + "2/32", interface, ip(four + "2"), PP_ADJ_FORWARD, neighbour_mac);
        route("192.168." + n + ".0/24", interface, ip(four + "2"), PP_ADJ_FORWARD, neighbour_mac);
        route(six + "/64", interface, std::nullopt, PP_ADJ_GLEAN);
        route(six + "1/128", interface, std::nullopt, PP_ADJ_HOST);
        route(six + "2/128", interface, ip(six + "2"), PP_ADJ_FORWARD, neighbour_mac);
        route("2001:db8:1" + n + "::/64", interface, ip(six + "2"), PP_ADJ_FORWARD, neighbour_mac);
    }
    route("192.168.4.0/24", 2, ip("10.2.0.4"), PP_ADJ_INCOMPLETE);
    route("2001:db8:14::/64", 2, ip("2001:db8:2::4"), PP_ADJ_INCOMPLETE);
    environment.any_source = {{Family::ipv4, ip("10.1.0.1")}, {Family::ipv6, ip("2001:db8:1::1")}};
}

pp_fib_adjacency SmallRouter::link(uint16_t interface) const {
    pp_fib_adjacency value{};
    std::ranges::copy(mac(macs[interface]).bytes, value.src_mac);
    value.port = ports[interface];
    if (interface == 3) {
        const uint8_t tags[] = {0x88, 0xa8, 0x81, 0x00, 0, 100, 0, 200};
        std::memcpy(value.tpid, tags, 4);
        std::memcpy(value.tci, tags + 4, 4);
    }
    value.mtu = 1500;
    value.interface = interface;
    return value;
}

fib::AdjacencyId SmallRouter::route(std::string_view prefix, uint16_t interface,
                                    std::optional<IpAddress> next_hop, pp_adjacency_kind kind,
                                    std::string_view dst_mac) {
    pp_fib_adjacency value = link(interface);
    std::ranges::copy(mac(dst_mac).bytes, value.dst_mac);
    value.kind = kind;
    const fib::AdjacencyId id = image.add_adjacency(value).value();
    const std::pair<fib::AdjacencyId, uint16_t> members[] = {{id, 1}};
    if (!image.set(Prefix::parse(prefix).value(), image.add_group(members).value()))
        throw std::runtime_error("no room for the route");
    if (next_hop) environment.next_hops[id] = *next_hop;
    adjacencies[std::string(prefix)] = id;
    return id;
}

void SmallRouter::count(std::string_view prefix, uint16_t counter) {
    const std::pair<fib::AdjacencyId, uint16_t> members[] = {{adjacencies.find(prefix)->second, 1}};
    if (!image.set(Prefix::parse(prefix).value(), image.add_group(members, counter).value()))
        throw std::runtime_error("no room for the route");
}

void SmallRouter::set_mtu(std::string_view prefix, uint32_t mtu) {
    const fib::AdjacencyId id = adjacencies.find(prefix)->second;
    pp_fib_adjacency value = image.adjacency(id);
    value.mtu = mtu;
    image.update_adjacency(id, value);
}

void SmallRouter::complete(fib::AdjacencyId id, std::string_view dst_mac) {
    pp_fib_adjacency value = image.adjacency(id);
    std::ranges::copy(mac(dst_mac).bytes, value.dst_mac);
    value.kind = PP_ADJ_FORWARD;
    image.update_adjacency(id, value);
}

Buffer SlowPathTest::only_sent(uint16_t port) {
    const std::vector<Sent> sent = all_sent();
    EXPECT_EQ(sent.size(), 1U);
    if (sent.size() != 1) return {};
    EXPECT_EQ(sent[0].port, port);
    return sent[0].bytes;
}

uint64_t SlowPathTest::counter(std::string_view name) const {
    for (const auto& [key, value] : slow_path.counters())
        if (key == name) return value;
    ADD_FAILURE() << "no counter " << name;
    return 0;
}

void SlowPathTest::expect_silent(std::string_view name, uint64_t count) {
    EXPECT_TRUE(all_sent().empty());
    EXPECT_EQ(counter(name), count);
}

}  // namespace pktpit::router::test
