// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "fib/image.h"

namespace pktpit::fib {
namespace {

// Offsets are 32 bits wide, places of nodes 24 bits of 16 bytes each.
constexpr uint32_t most_node_bytes = 1u << 28;
constexpr uint32_t most_others = 1u << 24;
constexpr uint32_t most_buckets = 1u << 28;  // 65,535 uneven groups of 256: fib/bucket_share.h

uint32_t rounded(uint32_t count, uint32_t most) {
    return std::bit_ceil(std::clamp(count, 2u, most));
}

}  // namespace

void set_table_memory(Capacity& capacity, uint32_t mib) {
    capacity.node_bytes = mib << 20;
    capacity.roots = mib < 4 ? 0 : Capacity{}.roots;
}

pp_fib_geometry plan_geometry(const Capacity& capacity) {
    pp_fib_geometry g{};
    g.magic = PP_FIB_MAGIC;
    g.layout_version = PP_FIB_LAYOUT_VERSION;
    g.port_count = rounded(capacity.ports, 1u << 16);
    g.vlan_count = rounded(std::max<uint32_t>(capacity.vlans, PP_VLAN_PROBES), most_others);
    g.group_count = rounded(capacity.groups, most_others);
    g.bucket_count = rounded(capacity.buckets, most_buckets);
    g.adjacency_count = rounded(capacity.adjacencies, most_others);
    g.table_count = rounded(capacity.tables, most_others);
    g.root_count = capacity.roots;
    const uint64_t least = std::bit_ceil(uint64_t{g.root_count} * PP_FIB_ROOT_BYTES + 4096);
    g.node_bytes =
        static_cast<uint32_t>(std::max<uint64_t>(rounded(capacity.node_bytes, most_node_bytes), least));

    uint64_t end = sizeof(pp_fib_geometry);
    const auto place = [&end](uint64_t count, uint64_t bytes_each) {
        const uint64_t start = (end + 63) / 64 * 64;
        end = start + count * bytes_each;
        return static_cast<uint32_t>(start);
    };
    g.globals_offset = place(1, sizeof(pp_fib_globals));
    g.port_offset = place(g.port_count, sizeof(pp_fib_port));
    g.vlan_offset = place(g.vlan_count, sizeof(pp_fib_vlan));
    g.group_offset = place(g.group_count, sizeof(pp_fib_group));
    g.bucket_offset = place(g.bucket_count, sizeof(uint32_t));
    g.adjacency_offset = place(g.adjacency_count, sizeof(pp_fib_adjacency));
    g.table_offset = place(g.table_count, sizeof(pp_fib_table));
    g.interface_offset = place(PP_FIB_INTERFACES, sizeof(pp_fib_interface));
    // Nodes last: they are never read before they are filled, so this part need not be cleared.
    g.node_offset = place(g.node_bytes, 1);
    // A lookup reads 4 bytes where the last node's last element may be one.
    end += sizeof(uint32_t);
    g.image_bytes = (end + 63) / 64 * 64;
    return g;
}

}  // namespace pktpit::fib
