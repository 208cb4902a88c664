/// The writer of a FIB image (fib/layout.h): one thread writes, any number of readers look up meanwhile.
///
/// The memory is the caller's: a heap block, hugepages, a mmapped BPF array, device memory. FibImage keeps
/// what only the writer needs (which prefix owns each entry, free lists) in its own memory. It never blocks a
/// reader and never lets one see a half-made change. It knows no sources, preferences or next hops: see
/// fib/rib.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fib/address.h"
#include "fib/layout.h"
#include "fib/result.h"

namespace pktpit::fib {

using GroupId = uint32_t;
using AdjacencyId = uint32_t;

/// How much an image holds. Counts are rounded up to powers of two; group 0 and adjacency 0 are reserved.
struct Capacity {
    uint32_t ports = 256;
    uint32_t vlans = 1024;
    uint32_t groups = 8192;
    uint32_t buckets = 262144;  ///< three equal members take 256: see fib/bucket_share.h
    uint32_t adjacencies = 16384;
    uint32_t blocks4 = 32768;  ///< the full IPv4 table of 2026-06 takes 27,698
    uint32_t blocks6 = 65536;  ///< the full IPv6 table of 2026-06 takes 58,370
};

/// Where the parts of an image of this capacity lie, and how large it is. Constant for the image's life.
pp_fib_geometry plan_geometry(const Capacity& capacity);

/// Returns once no reader can still hold anything it read before the call. C++ readers: an epoch; eBPF
/// readers: an RCU grace period. Called by the writer before it reuses memory, for many frees at once.
using GracePeriod = std::function<void()>;

class FibImage {
  public:
    /// Formats `memory` (geometry.image_bytes, 64-byte aligned, cleared by this call) as an empty image.
    FibImage(std::span<std::byte> memory, const pp_fib_geometry& geometry, const GracePeriod& grace_period);
    ~FibImage();
    FibImage(FibImage&&) noexcept;
    FibImage& operator=(FibImage&&) noexcept;

    /// Adds the prefix or atomically replaces its group. When memory is out: an error, and the table as it
    /// was.
    Result<void> set(const Prefix& prefix, GroupId group);
    /// Removes the prefix; its addresses fall to the next shorter one. False if it was not there.
    bool erase(const Prefix& prefix);
    /// The group of exactly this prefix.
    [[nodiscard]] std::optional<GroupId> find(const Prefix& prefix) const;
    /// The longest match, as a reader sees it: group id, 0 if none.
    [[nodiscard]] GroupId lookup(const IpAddress& address) const;
    /// The longest matching prefix itself, for people.
    [[nodiscard]] std::optional<std::pair<Prefix, GroupId>> match(const IpAddress& address) const;
    [[nodiscard]] size_t prefix_count(Family family) const;

    /// Groups. Members are adjacency ids with weights (1..65535); a group with no member is one whose every
    /// packet is "no route". Buckets are shared out after the weights, so that the error is below 1 % of a
    /// share (fib/bucket_share.h says where that ends).
    Result<GroupId> add_group(std::span<const std::pair<AdjacencyId, uint16_t>> members);
    /// Visible by one store; where there is no room for new buckets beside the old ones, bucket by bucket.
    /// Flows keep their member where the new shares allow it.
    Result<void> replace_group(GroupId group, std::span<const std::pair<AdjacencyId, uint16_t>> members);
    void remove_group(GroupId group);  ///< No prefix may refer to it any more.

    Result<AdjacencyId> add_adjacency(const pp_fib_adjacency& value);
    /// Changes `next` (MAC address, kind), `own` and mtu in place, each word atomically.
    void update_adjacency(AdjacencyId id, const pp_fib_adjacency& value);
    void remove_adjacency(AdjacencyId id);  ///< No group may refer to it any more.
    [[nodiscard]] const pp_fib_adjacency& adjacency(AdjacencyId id) const;

    void set_port(uint16_t port, const pp_fib_port& value);
    Result<void> set_vlan(uint16_t port, uint16_t outer, uint16_t inner, uint16_t interface);
    void erase_vlan(uint16_t port, uint16_t outer, uint16_t inner);

    [[nodiscard]] std::span<const std::byte> memory() const;
    [[nodiscard]] const pp_fib_geometry& geometry() const;

    /// How full each part is, for `show` and for errors.
    struct Usage {
        uint32_t groups, buckets, adjacencies, blocks4, blocks6, vlans;
        size_t prefixes4, prefixes6;
    };
    [[nodiscard]] Usage usage() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::fib
