// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/forward/test_router.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace pktpit::router::test {
namespace {

void must(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().to_string());
}

class Filler {
  public:
    explicit Filler(fib::FibImage& image) : image_(image) {}

    fib::AdjacencyId adjacency(const pp_fib_adjacency& value) { return image_.add_adjacency(value).value(); }
    fib::GroupId group(std::initializer_list<std::pair<fib::AdjacencyId, uint16_t>> members) {
        return image_.add_group({members.begin(), members.size()}).value();
    }
    void route(const std::string& prefix, fib::GroupId group) {
        must(image_.set(Prefix::parse(prefix).value(), group));
    }
    /// 10.X.0.0/16 and 2001:db8:X::/48, X given in decimal and in hexadecimal.
    void routes(const std::string& decimal, const std::string& hexadecimal, fib::GroupId group) {
        route("10." + decimal + ".0.0/16", group);
        route("2001:db8:" + hexadecimal + "::/48", group);
    }
    fib::GroupId routes(const std::string& decimal, const std::string& hexadecimal,
                        const pp_fib_adjacency& value) {
        const auto made = group({{adjacency(value), 1}});
        routes(decimal, hexadecimal, made);
        return made;
    }

  private:
    fib::FibImage& image_;
};

}  // namespace

fib::Capacity small_capacity() {
    return {.ports = 16,
            .vlans = 64,
            .groups = 256,
            .buckets = 4096,
            .adjacencies = 256,
            .tables = 4,
            .roots = 2,
            .node_bytes = 8 << 20};
}

pp_fib_port port_of(const Mac& mac, uint16_t interface, bool up) {
    pp_fib_port port{};
    std::memcpy(port.mac, mac.data(), mac.size());
    port.flags = up ? PP_PORT_UP : 0;
    port.interface = interface;
    return port;
}

pp_fib_port awaiting_dhcp(pp_fib_port port) {
    port.flags |= PP_PORT_AWAITS_DHCP;
    return port;
}

pp_fib_adjacency adjacency_of(pp_adjacency_kind kind, uint16_t port, const Mac& from, const Mac& to,
                              uint16_t interface, uint32_t mtu, std::span<const Tag> tags) {
    pp_fib_adjacency value{};
    std::memcpy(value.dst_mac, to.data(), to.size());
    value.kind = kind;
    std::memcpy(value.src_mac, from.data(), from.size());
    value.port = port;
    for (size_t i = 0; i < tags.size(); i++) {
        value.tpid[i] = __builtin_bswap16(tags[i].tpid);
        value.tci[i] = __builtin_bswap16(tags[i].tci);
    }
    value.mtu = mtu;
    value.interface = interface;
    return value;
}

void fill_test_router(fib::FibImage& image, std::byte* base) {
    image.set_port(1, port_of(port1, 1, true));
    image.set_port(2, port_of(port2, 2, true));
    image.set_port(3, awaiting_dhcp(port_of(port3, 0, true)));
    image.set_port(4, awaiting_dhcp(port_of(port4, 4, false)));
    must(image.set_vlan(1, 10, 0, 11));
    must(image.set_vlan(1, 300, 20, 12));
    must(image.set_vlan(3, 100, 0, 31));
    must(image.set_vlan(3, 200 | PP_VLAN_SERVICE, 7, 32));

    Filler fill(image);
    const std::array single{Tag{0x8100, tci100}};
    const std::array stacked{Tag{0x88a8, 200}, Tag{0x8100, 7}};
    const auto plain = adjacency_of(PP_ADJ_FORWARD, 2, port2, next_hop2, 2);
    const auto tagged = adjacency_of(PP_ADJ_FORWARD, 3, port3, next_hop3, 31, 1500, single);
    fill.routes("1", "1", plain);
    const auto tagged_group = fill.routes("2", "2", tagged);
    fill.routes("3", "3", adjacency_of(PP_ADJ_FORWARD, 3, port3, next_hop32, 32, 1500, stacked));
    fill.routes("4", "4", adjacency_of(PP_ADJ_FORWARD, 4, port4, next_hop2, 4));
    fill.routes("5", "5", adjacency_of(PP_ADJ_FORWARD, 60000, port2, next_hop2, 2));
    fill.route("10.5.1.0/24",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_FORWARD, 0, port2, next_hop2, 2)), 1}}));
    fill.routes("6", "6", adjacency_of(PP_ADJ_INCOMPLETE, 2, port2, Mac{}, 2));
    fill.routes("7", "7", adjacency_of(PP_ADJ_GLEAN, 2, port2, Mac{}, 2));
    fill.routes("8", "8", adjacency_of(PP_ADJ_BLACKHOLE, 0, Mac{}, Mac{}, 0));
    fill.routes("9", "9", adjacency_of(PP_ADJ_UNREACHABLE, 0, Mac{}, Mac{}, 0));
    fill.routes("10", "a", adjacency_of(PP_ADJ_PROHIBIT, 0, Mac{}, Mac{}, 0));
    fill.routes("16", "10", adjacency_of(PP_ADJ_KERNEL, 0, Mac{}, Mac{}, 0));
    fill.route("10.13.0.0/16",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_FORWARD, 2, port2, next_hop2, 2, 600)), 1}}));
    fill.route("2001:db8:d::/48",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_FORWARD, 2, port2, next_hop2, 2, 1280)), 1}}));
    std::array<fib::AdjacencyId, 4> several{};
    for (uint8_t i = 0; i < uint8_t{several.size()}; i++)
        several[i] = fill.adjacency(adjacency_of(PP_ADJ_FORWARD, 2, port2, Mac{2, 0, 0, 0, 0xcc, i}, 2));
    fill.routes("14", "e", fill.group({{several[0], 1}, {several[1], 1}, {several[2], 1}, {several[3], 1}}));
    fill.routes("15", "f", fill.group({}));

    // A prefix of every length behind the /16, so that a lookup takes every level.
    fill.route("10.1.2.0/24", tagged_group);
    fill.route("10.1.2.128/32", fill.group({{fill.adjacency(plain), 1}}));
    fill.route("2001:db8:1:2:3:4:5:6/128", tagged_group);

    const auto host = fill.group({{fill.adjacency(adjacency_of(PP_ADJ_HOST, 1, port1, Mac{}, 1)), 1}});
    for (const char* own : {"192.0.2.1/32", "192.0.3.1/32", "169.254.7.1/32", "2001:db8:ff::1/128"})
        fill.route(own, host);
    // 10.1.2.9 is nobody's: its bit stands for others, too, and the table says that it may be a source.
    for (const char* noted : {"192.0.2.1", "192.0.3.1", "169.254.7.1", "2001:db8:ff::1", "192.0.2.255",
                              "192.0.3.255", "10.1.2.9", "2001:db8:1::77"})
        image.note_source(IpAddress::parse(noted).value());
    fill.route("192.0.2.0/24",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_GLEAN, 1, port1, Mac{}, 1)), 1}}));
    fill.route("192.0.2.255/32",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_BROADCAST, 1, port1, Mac{}, 1)), 1}}));
    fill.route("192.0.3.255/32",
               fill.group({{fill.adjacency(adjacency_of(PP_ADJ_BROADCAST, 2, port2, Mac{}, 2)), 1}}));

    // What no writer leaves behind: a kind of no meaning, and an adjacency freed under its group.
    const auto* geometry = &image.geometry();
    auto* adjacencies = reinterpret_cast<pp_fib_adjacency*>(base + geometry->adjacency_offset);
    const auto unknown = fill.adjacency(plain);
    const auto freed = fill.adjacency(plain);
    adjacencies[unknown].kind = 200;
    adjacencies[freed].kind = PP_ADJ_INVALID;
    fill.routes("11", "b", fill.group({{unknown, 1}}));
    fill.routes("12", "c", fill.group({{freed, 1}}));
}

}  // namespace pktpit::router::test
