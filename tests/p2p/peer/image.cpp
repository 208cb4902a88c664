// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/peer/image.h"

#include <bit>
#include <cstring>
#include <utility>

namespace pktpit::test_peer {

Result<std::unique_ptr<Image>> Image::open(std::span<const std::byte> memory) {
    pp_fib_geometry g{};
    if (memory.size() < sizeof(g)) return fail("FIB image", "is too small");
    std::memcpy(&g, memory.data(), sizeof(g));
    if (g.magic != PP_FIB_MAGIC || g.layout_version != PP_FIB_LAYOUT_VERSION)
        return fail("FIB image", "is none of this layout");
    const auto lies_inside = [&](uint64_t offset, uint64_t count, uint64_t bytes, bool power) {
        return count != 0 && (!power || std::has_single_bit(count)) && offset % 8 == 0 &&
               offset + count * bytes <= memory.size();
    };
    const bool good = lies_inside(g.globals_offset, 1, sizeof(pp_fib_globals), false) &&
                      lies_inside(g.port_offset, g.port_count, sizeof(pp_fib_port), true) &&
                      lies_inside(g.vlan_offset, g.vlan_count, sizeof(pp_fib_vlan), true) &&
                      lies_inside(g.group_offset, g.group_count, sizeof(pp_fib_group), true) &&
                      lies_inside(g.bucket_offset, g.bucket_count, sizeof(uint32_t), true) &&
                      lies_inside(g.adjacency_offset, g.adjacency_count, sizeof(pp_fib_adjacency), true) &&
                      lies_inside(g.table_offset, g.table_count, sizeof(pp_fib_table), true) &&
                      lies_inside(g.interface_offset, PP_FIB_INTERFACES, sizeof(pp_fib_interface), true) &&
                      // A look-up reads 4 bytes where the last node's last element may be one.
                      std::has_single_bit(g.node_bytes) &&
                      uint64_t{g.node_offset} + g.node_bytes + 4 <= memory.size();
    if (!good) return fail("FIB image", "has parts that lie outside of it");
    return std::unique_ptr<Image>(new Image(memory.data(), g));
}

// The readers for one address at a time mask what they find, which those for vectors need not.
Image::Image(const std::byte* base, const pp_fib_geometry& geometry)
    : geometry_(geometry), forwarder_(router::ImageView{base, &geometry_}, fib::CpuVariant::scalar) {}

std::optional<uint16_t> Image::forward(uint16_t port, std::span<uint8_t> slice, uint32_t frame_length) {
    batch_.clear();
    batch_.put(0, slice.data(), static_cast<uint16_t>(slice.size()), frame_length, false);
    const router::IngressRun run{port, 0, 1, frame_length, 0};
    if (forwarder_.forward(batch_, {&run, 1}) == 0) return std::nullopt;
    return batch_.egress_port(0);
}

}  // namespace pktpit::test_peer
