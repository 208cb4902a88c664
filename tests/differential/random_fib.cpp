// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <stdexcept>

#include "bpf/abi.h"
#include "tests/differential/random_traffic.h"
#include "tests/unit/forward/test_router.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;

constexpr uint16_t interfaces = 8;
constexpr int adjacencies = 60;
constexpr int groups = 60;
constexpr int prefix_count = 250;

void must(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().to_string());
}

forward::Mac random_mac(Random& random) {
    return {2, random.byte(), random.byte(), random.byte(), random.byte(), random.byte()};
}

pp_fib_adjacency random_adjacency(Random& random) {
    constexpr std::array kinds{PP_ADJ_FORWARD,     PP_ADJ_INCOMPLETE, PP_ADJ_GLEAN,
                               PP_ADJ_HOST,        PP_ADJ_BROADCAST,  PP_ADJ_BLACKHOLE,
                               PP_ADJ_UNREACHABLE, PP_ADJ_PROHIBIT,   PP_ADJ_KERNEL};
    constexpr std::array<uint16_t, 4> tpids{0x8100, 0x88a8, 0x9100, 0xffff};
    constexpr std::array<uint32_t, 7> mtus{0, 68, 100, 576, 1280, 1500, 9000};
    std::vector<forward::Tag> tags(random.one_in(2) ? 0 : random.below(3));
    for (auto& tag : tags)
        tag = {random.pick(tpids), random.word()};
    const auto kind = random.one_in(3) ? random.pick(kinds) : PP_ADJ_FORWARD;
    // Mostly a port that is there; else one that is not, or 0.
    const auto port =
        random.one_in(12) ? random.word() : static_cast<uint16_t>(1 + random.below(random_ports));
    return forward::adjacency_of(kind, port, random_mac(random), random_mac(random),
                                 static_cast<uint16_t>(1 + random.below(interfaces)),
                                 random.one_in(3) ? random.pick(mtus) : 9000, tags);
}

/// Prefixes of every length, most of them inside another one.
template <size_t Bytes>
Prefix random_prefix(const std::vector<Prefix>& so_far, Family family, Random& random) {
    IpAddress address;
    address.family = family;
    const bool inside = !so_far.empty() && !random.one_in(4);
    if (inside) address = random.pick(so_far).address;
    const uint32_t kept = inside ? random.below(Bytes * 8 + 1) : 0;
    for (size_t i = kept / 8; i < Bytes; i++)
        address.bytes[i] = random.byte();
    return Prefix::of(address, random.below(Bytes * 8 + 1));
}

std::array<uint16_t, interfaces + 1> random_tables_of_interfaces(fib::FibImage& image, Random& random,
                                                                 uint32_t tables) {
    std::array<uint16_t, interfaces + 1> of{};
    for (uint32_t table = 1; table < tables; table++)
        if (image.add_table().value() != table) throw std::runtime_error("the image was not empty");
    for (uint16_t interface = 1; tables > 1 && interface <= interfaces; interface++) {
        of[interface] = static_cast<uint16_t>(random.below(tables));
        image.set_interface(interface, {of[interface], 0});
    }
    return of;
}

}  // namespace

fib::Capacity random_capacity() {
    fib::Capacity capacity = forward::small_capacity();
    capacity.buckets = 65536;
    return capacity;
}

RandomFib fill_randomly(fib::FibImage& image, std::byte* base, Random& random, uint32_t tables) {
    RandomFib fib;
    const std::array<uint16_t, interfaces + 1> table_of = random_tables_of_interfaces(image, random, tables);
    for (uint16_t port = 1; port <= random_ports; port++) {
        const auto untagged = static_cast<uint16_t>(random.one_in(5) ? 0 : port);
        auto value =
            forward::port_of({2, 0, 0, 0, 0, static_cast<uint8_t>(port)}, untagged, !random.one_in(5));
        value.table = table_of[untagged];
        if (random.one_in(2)) value = forward::awaiting_dhcp(value);
        image.set_port(port, value);
        for (uint32_t i = 0; i < vlans_per_port; i++) {
            const auto outer =
                static_cast<uint16_t>((1 + random.below(4094)) | (random.one_in(2) ? PP_VLAN_SERVICE : 0));
            const auto inner = static_cast<uint16_t>(random.one_in(2) ? 0 : 1 + random.below(4094));
            must(image.set_vlan(port, outer, inner, static_cast<uint16_t>(1 + random.below(interfaces))));
            fib.vlans.push_back({outer, inner});
        }
    }
    auto* adjacency_table = reinterpret_cast<pp_fib_adjacency*>(base + image.geometry().adjacency_offset);
    std::vector<fib::AdjacencyId> ids;
    for (int i = 0; i < adjacencies; i++) {
        ids.push_back(image.add_adjacency(random_adjacency(random)).value());
        if (random.one_in(30)) adjacency_table[ids.back()].kind = random.byte();  // what no writer writes
    }
    std::vector<fib::GroupId> made;
    for (int i = 0; i < groups; i++) {
        std::vector<std::pair<fib::AdjacencyId, uint16_t>> members(random.one_in(3) ? random.below(6) : 1);
        for (auto& member : members)
            member = {random.pick(ids), static_cast<uint16_t>(1 + random.below(9))};
        const auto counter =
            random.one_in(2) ? uint16_t{0} : static_cast<uint16_t>(1 + random.below(PP_ROUTE_COUNTERS - 1));
        made.push_back(image.add_group(members, counter).value());
    }
    for (int i = 0; i < prefix_count; i++) {
        fib.prefixes4.push_back(random_prefix<4>(fib.prefixes4, Family::ipv4, random));
        fib.prefixes6.push_back(random_prefix<16>(fib.prefixes6, Family::ipv6, random));
        for (fib::TableId table = 0; table < tables; table++) {
            if (table != 0 && random.one_in(3)) continue;
            must(image.set(fib.prefixes4.back(), random.pick(made), table));
            must(image.set(fib.prefixes6.back(), random.pick(made), table));
        }
    }
    image.set_hash_seed(random.bits());
    // Among them many that lead to no address of the router: a bit stands for several addresses.
    for (auto [prefixes, noted] : {std::pair{&fib.prefixes4, &fib.noted4}, {&fib.prefixes6, &fib.noted6}})
        for (const Prefix& prefix : *prefixes) {
            noted->push_back(prefix.address);
            image.note_source(prefix.address);
        }
    return fib;
}

}  // namespace pktpit::test
