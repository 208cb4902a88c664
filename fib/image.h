// SPDX-License-Identifier: BSD-3-Clause
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

#include "base/address.h"
#include "base/result.h"
#include "fib/layout.h"
#include "fib/reclamation.h"

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
    uint32_t tables = 64;             ///< routing tables (VRFs)
    uint32_t roots = 4;               ///< 256 KiB each, for a large table's IPv4 or IPv6 half
    uint32_t node_bytes = 32u << 20;  ///< of all tables, roots included; docs/fib.md says what takes how much
};

/// Sets what the prefixes of all tables may take. Small images do without roots, which would take it all.
void set_table_memory(Capacity& capacity, uint32_t mib);

/// A routing table (VRF) of an image. Table 0 is always there.
using TableId = uint32_t;

/// A route to be set, or without a group to be erased.
struct RouteChange {
    Prefix prefix;
    std::optional<GroupId> group;
};

/// Where the parts of an image of this capacity lie, and how large it is. Constant for the image's life.
pp_fib_geometry plan_geometry(const Capacity& capacity);

/// Returns once no reader can still hold anything it read before the call. C++ readers: an epoch; eBPF
/// readers: an RCU grace period. Called by the writer before it reuses memory, for many frees at once.
using GracePeriod = std::function<void()>;

class FibImage {
  public:
    /// Formats `memory` (geometry.image_bytes, 64-byte aligned, cleared by this call) as an empty image.
    /// `reclamation`: a GracePeriod, or the Epochs of its readers.
    FibImage(std::span<std::byte> memory, const pp_fib_geometry& geometry, const Reclamation& reclamation);
    ~FibImage();
    FibImage(FibImage&&) noexcept;
    FibImage& operator=(FibImage&&) noexcept;

    /// Adds the prefix or atomically replaces its group: a reader finds the old or the new. When memory is
    /// out: an error, and the table as it was.
    Result<void> set(const Prefix& prefix, GroupId group, TableId table = PP_FIB_DEFAULT_TABLE);
    /// Removes the prefix; its addresses fall to the next shorter one. False if it was not there. When that
    /// needs memory (the shorter one's id is wider than the longer ones') and there is none: an error, and
    /// the table as it was.
    Result<bool> erase(const Prefix& prefix, TableId table = PP_FIB_DEFAULT_TABLE);
    /// All changes, in order, or none: a reader that begins a lookup, or a batch of lookups, sees the table
    /// before all of them or after all of them. Takes a second root and a copy of every node it touches.
    Result<void> apply(std::span<const RouteChange> changes, TableId table = PP_FIB_DEFAULT_TABLE);
    /// The group of exactly this prefix.
    [[nodiscard]] std::optional<GroupId> find(const Prefix& prefix,
                                              TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// The longest match, as a reader sees it: group id, 0 if none.
    [[nodiscard]] GroupId lookup(const IpAddress& address, TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// The longest matching prefix itself, for people.
    [[nodiscard]] std::optional<std::pair<Prefix, GroupId>> match(const IpAddress& address,
                                                                  TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// That, and the group of the longest prefix around it, itself not: what packets to it would meet without
    /// it.
    struct Standing {
        std::optional<GroupId> own;
        std::optional<GroupId> around;
    };
    [[nodiscard]] Standing standing(const Prefix& prefix, TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// The longest prefix around `prefix`, or itself if it is there.
    [[nodiscard]] std::optional<Prefix> cover(const Prefix& prefix,
                                              TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// Do readers find `group` for every address inside `range`? Reads what they read: microseconds where
    /// many nodes lie inside and all agree.
    [[nodiscard]] bool is_uniform(const Prefix& range, GroupId group,
                                  TableId table = PP_FIB_DEFAULT_TABLE) const;
    /// The largest prefix around the address, of at least `shortest` bits, for all of whose addresses readers
    /// find the group that they find for this one.
    [[nodiscard]] Prefix uniform_block(const IpAddress& address, unsigned shortest,
                                       TableId table = PP_FIB_DEFAULT_TABLE) const;
    [[nodiscard]] size_t prefix_count(Family family, TableId table = PP_FIB_DEFAULT_TABLE) const;

    /// An empty table more, which takes no memory until it has prefixes.
    Result<TableId> add_table();
    void remove_table(TableId table);  ///< Not table 0. No reader may begin lookups in it any more.

    /// `table`, which has no prefixes and gets none meanwhile, answers as table `of` does from now on, after
    /// each change of that, too; nothing: as the empty one that it is. Costs nothing: both have the same
    /// nodes. One table at a time is a mirror.
    void mirror(TableId table, std::optional<TableId> of);

    /// A step of compaction: moves nodes so that pages of memory become free, and gives nodes their least
    /// size. About `budget` nodes a call, but at least all below the same 16 bits, so that updates need not
    /// wait for the whole; true when a pass is complete. Readers notice nothing.
    bool compact(size_t budget);

    /// Groups. Members are adjacency ids with weights (1..65535); a group with no member is one whose every
    /// packet is "no route". Buckets are shared out after the weights, so that the error is below 1 % of a
    /// share (fib/bucket_share.h says where that ends).
    /// `counter`: index of the counter of the route that uses the group, 0 = not counted; it stays the
    /// group's.
    Result<GroupId> add_group(std::span<const std::pair<AdjacencyId, uint16_t>> members,
                              uint16_t counter = 0);
    /// Visible by one store; where there is no room for new buckets beside the old ones, bucket by bucket.
    /// Flows keep their member where the new shares allow it.
    Result<void> replace_group(GroupId group, std::span<const std::pair<AdjacencyId, uint16_t>> members);
    /// Gives members their exact shares again, which resilience may have moved them away from a little; moves
    /// the fewest flows that does it.
    Result<void> rebalance_group(GroupId group);
    void remove_group(GroupId group);  ///< No prefix may refer to it any more.

    Result<AdjacencyId> add_adjacency(const pp_fib_adjacency& value);
    /// Changes `next` (MAC address, kind), `own` and mtu in place, each word atomically.
    void update_adjacency(AdjacencyId id, const pp_fib_adjacency& value);
    void remove_adjacency(AdjacencyId id);  ///< No group may refer to it any more.
    [[nodiscard]] const pp_fib_adjacency& adjacency(AdjacencyId id) const;

    void set_port(uint16_t port, const pp_fib_port& value);
    /// In which tables packets are looked up that come in by an L3 interface; table 0 for one that is new.
    /// Of a port's own interface its pp_fib_port says so, too.
    void set_interface(uint16_t interface, const pp_fib_interface& tables);
    /// Tags as in pp_fib_vlan.
    Result<void> set_vlan(uint16_t port, uint16_t outer, uint16_t inner, uint16_t interface);
    void erase_vlan(uint16_t port, uint16_t outer, uint16_t inner);

    /// Where the flow hash begins. Another one moves flows.
    void set_hash_seed(uint64_t seed);
    [[nodiscard]] uint64_t hash_seed() const;
    /// Has some prefix, or will it have, an adjacency of kind PP_ADJ_KERNEL?
    void set_kernel_routes(bool some);
    /// Packets from this address are not forwarded if the table that they are looked up in leads to an
    /// adjacency of kind PP_ADJ_HOST or PP_ADJ_BROADCAST for it; of other addresses that is not looked at. As
    /// often forgotten as noted.
    void note_source(const IpAddress& address);
    void forget_source(const IpAddress& address);

    [[nodiscard]] std::span<const std::byte> memory() const;
    [[nodiscard]] const pp_fib_geometry& geometry() const;

    /// How full each part is, for `show` and for errors.
    struct Usage {
        uint32_t groups, buckets, adjacencies, vlans, tables;
        size_t prefixes4, prefixes6;        ///< of all tables
        uint64_t node_bytes4, node_bytes6;  ///< what readers can reach
        uint64_t node_bytes_taken;          ///< and what waits for readers, or lies between
        uint64_t node_bytes_capacity;
    };
    [[nodiscard]] Usage usage() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::fib
