#include <algorithm>
#include <bit>

#include "fib/image.h"

namespace pktpit::fib {
namespace {

// Offsets are 32 bits wide: two tables of this many blocks take 2 GiB, the rest far less than the other 2
// GiB.
constexpr uint32_t most_blocks = 1u << 20;
constexpr uint32_t most_others = 1u << 24;

uint32_t rounded(uint32_t count, uint32_t most) {
    return std::bit_ceil(std::clamp(count, 2u, most));
}

}  // namespace

pp_fib_geometry plan_geometry(const Capacity& capacity) {
    pp_fib_geometry g{};
    g.magic = PP_FIB_MAGIC;
    g.layout_version = PP_FIB_LAYOUT_VERSION;
    g.port_count = rounded(capacity.ports, 1u << 16);
    g.vlan_count = rounded(std::max<uint32_t>(capacity.vlans, PP_VLAN_PROBES), most_others);
    g.group_count = rounded(capacity.groups, most_others);
    g.bucket_count = rounded(capacity.buckets, most_others);
    g.adjacency_count = rounded(capacity.adjacencies, most_others);
    g.block4_count = rounded(capacity.blocks4, most_blocks);
    g.block6_count = rounded(capacity.blocks6, most_blocks);

    uint64_t end = sizeof(pp_fib_geometry);
    const auto place = [&end](uint64_t count, uint64_t bytes_each) {
        const uint64_t start = (end + 63) / 64 * 64;
        end = start + count * bytes_each;
        return static_cast<uint32_t>(start);
    };
    g.port_offset = place(g.port_count, sizeof(pp_fib_port));
    g.vlan_offset = place(g.vlan_count, sizeof(pp_fib_vlan));
    g.group_offset = place(g.group_count, sizeof(pp_fib_group));
    g.bucket_offset = place(g.bucket_count, sizeof(uint32_t));
    g.adjacency_offset = place(g.adjacency_count, sizeof(pp_fib_adjacency));
    g.root4_offset = place(PP_FIB_ROOT_ENTRIES, sizeof(uint32_t));
    g.root6_offset = place(PP_FIB_ROOT_ENTRIES, sizeof(uint32_t));
    // Blocks last: they are never read before they are filled, so this part need not be cleared.
    g.block4_offset = place(g.block4_count, PP_FIB_BLOCK_ENTRIES * sizeof(uint32_t));
    g.block6_offset = place(g.block6_count, PP_FIB_BLOCK_ENTRIES * sizeof(uint32_t));
    g.image_bytes = (end + 63) / 64 * 64;
    return g;
}

}  // namespace pktpit::fib
