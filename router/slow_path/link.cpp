// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/link.h"

#include <cstring>

#include "fib/lookup.h"

namespace pktpit::router {

namespace {

uint32_t address_hash(const IpAddress& address) {
    uint32_t hash = 0x811c9dc5;
    for (unsigned at = 0; at < address.size(); at += 4) {
        hash = (hash ^ load_be32(address.bytes.data() + at)) * 0x9e3779b1U;
        hash ^= hash >> 15;
    }
    return hash * 0x85ebca6bU;
}

}  // namespace

LinkHeader link_header(const pp_fib_adjacency& adjacency, Family family) {
    LinkHeader header;
    const auto append = [&](const void* from, size_t size) {
        std::memcpy(header.bytes.data() + header.length, from, size);
        header.length += size;
    };
    append(adjacency.dst_mac, 6);
    append(adjacency.src_mac, 6);
    for (size_t tag = 0; tag < 2 && adjacency.tpid[tag] != 0; tag++) {
        append(&adjacency.tpid[tag], 2);
        append(&adjacency.tci[tag], 2);
    }
    store_be16(header.bytes.data() + header.length, family == Family::ipv4 ? 0x0800 : 0x86dd);
    header.length += 2;
    return header;
}

uint32_t adjacency_towards(const ImageView& image, const IpAddress& destination, uint16_t interface) {
    const pp_fib_geometry* geometry = image.geometry;
    const uint32_t table = PP_FIB_INTERFACE_TABLE(pp_fib_interface_word(image.base, geometry, interface));
    const uint32_t group = destination.is_v4()
                               ? pp_fib_lookup4_in(image.base, geometry, table, destination.v4_host_order())
                               : pp_fib_lookup6_in(image.base, geometry, table, destination.bytes.data());
    if (group == 0) return 0;
    uint32_t first = 0;
    const uint32_t bits = pp_fib_group_bits(image.base, geometry, group, &first);
    return bits == 0 ? first : pp_fib_bucket(image.base, geometry, first, bits, address_hash(destination));
}

pp_fib_adjacency load_adjacency(const ImageView& image, uint32_t adjacency) {
    return *pp_fib_adjacency_at(image.base, image.geometry, adjacency);
}

bool is_port_up(const ImageView& image, uint16_t port) {
    return port != 0 && port < image.geometry->port_count &&
           (pp_fib_port_at(image.base, image.geometry, port)->flags & PP_PORT_UP) != 0;
}

bool is_own_address(const ImageView& image, const IpAddress& address, uint16_t interface) {
    return load_adjacency(image, adjacency_towards(image, address, interface)).kind == PP_ADJ_HOST;
}

}  // namespace pktpit::router
