// SPDX-License-Identifier: BSD-3-Clause
/// A FIB image in heap memory of its own, for tests. Counts grace periods.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "fib/image.h"
#include "fib/lookup.h"

namespace pktpit::test {

/// The parts of a small image, of which a test names those that it wants otherwise.
struct SmallCapacity {
    uint32_t ports = 8;
    uint32_t vlans = 64;
    uint32_t groups = 64;
    uint32_t buckets = 4096;
    uint32_t adjacencies = 64;
    uint32_t tables = 4;
    uint32_t roots = 2;
    uint32_t node_bytes = 1 << 20;
};

class TestImage {
  public:
    explicit TestImage(const fib::Capacity& capacity = small({}), fib::GracePeriod grace_period = {})
        : geometry_(fib::plan_geometry(capacity)),
          memory_(static_cast<std::byte*>(std::aligned_alloc(64, geometry_.image_bytes)), &std::free),
          image_(dirty(), geometry_, [this, grace_period] {
              grace_periods_++;
              if (grace_period) grace_period();
          }) {}

    static fib::Capacity small(const SmallCapacity& but = {}) {
        return {but.ports,       but.vlans,  but.groups, but.buckets,
                but.adjacencies, but.tables, but.roots,  but.node_bytes};
    }

    fib::FibImage* operator->() { return &image_; }
    fib::FibImage& operator*() { return image_; }
    [[nodiscard]] size_t grace_periods() const { return grace_periods_; }
    [[nodiscard]] const std::byte* base() const { return memory_.get(); }
    [[nodiscard]] const pp_fib_geometry& geometry() const { return geometry_; }
    [[nodiscard]] std::vector<std::byte> bytes() const { return {base(), base() + geometry_.image_bytes}; }

    /// Bytes of nodes but for the default table's two roots.
    [[nodiscard]] uint64_t nodes() const {
        const auto usage = image_.usage();
        return usage.node_bytes4 + usage.node_bytes6 - 2u * PP_FIB_ROOT_BYTES;
    }

    /// A group with one new adjacency.
    fib::GroupId add_group() {
        const std::pair<fib::AdjacencyId, uint16_t> member{image_.add_adjacency({}).value(), 1};
        return image_.add_group({&member, 1}).value();
    }
    /// What a reader picks from the group for this flow hash: an adjacency.
    [[nodiscard]] uint32_t member(fib::GroupId group, uint32_t hash) const {
        uint32_t first = 0;
        const uint32_t bits = pp_fib_group_bits(base(), &geometry_, group, &first);
        return bits ? pp_fib_bucket(base(), &geometry_, first, bits, hash) : first;
    }

  private:
    /// Memory that nobody has cleared, as a pinned map of an earlier run would be.
    std::span<std::byte> dirty() {
        std::memset(memory_.get(), 0xa5, geometry_.image_bytes);
        return {memory_.get(), geometry_.image_bytes};
    }

    pp_fib_geometry geometry_;
    std::unique_ptr<std::byte, decltype(&std::free)> memory_;
    size_t grace_periods_ = 0;
    fib::FibImage image_;
};

inline Prefix prefix(std::string_view text) {
    return Prefix::parse(text).value();
}

inline IpAddress address(std::string_view text) {
    return IpAddress::parse(text).value();
}

}  // namespace pktpit::test
