// SPDX-License-Identifier: BSD-3-Clause
/// What the port stage of auto ports holds: a second table of the FIB image, filled with blocks of addresses.
///
/// A block is *uniform*: every address in it has the same next-hop group in the full table, whatever prefixes
/// lie inside. So a stage that decides by it decides as the full table does, and no shorter prefix ever hides
/// a longer one. Whoever changes the full table calls before_change() first: blocks that the change could
/// make wrong are gone, or cut down to what stays right, before it is made. Changes of a group, of an
/// adjacency, a port or a VLAN need nothing: blocks name the group.
///
/// Where the full table is small enough, the second table is its mirror instead, and there are no blocks.
///
/// One thread, the daemon's. It never decides what is worth a place: that is hot_choice.h.
#pragma once

#include <cstddef>
#include <functional>

#include "fib/image.h"
#include "router/hot/hot_blocks.h"

namespace pktpit::router {

class HotRoutes {
  public:
    struct Counts {
        uint64_t promoted = 0;     ///< blocks installed
        uint64_t evicted = 0;      ///< blocks that had to go: colder than others
        uint64_t invalidated = 0;  ///< blocks that went, or were cut down, since a route changed
    };

    /// `table` is an empty table of the image that nobody else writes to; `full` the one that it follows.
    HotRoutes(fib::FibImage& image, fib::TableId table, fib::TableId full = PP_FIB_DEFAULT_TABLE)
        : image_(image), table_(table), full_(full) {}

    /// At most this many blocks from now on. What is too many goes: any.
    void set_budget(size_t blocks);
    [[nodiscard]] size_t budget() const { return budget_; }
    [[nodiscard]] size_t size() const { return v4_.all().size() + v6_.all().size(); }
    [[nodiscard]] bool full() const { return size() >= budget_; }

    /// Before the full table's route for exactly this prefix is added, changed or removed. On an error the
    /// change must not be made.
    Result<void> before_change(const Prefix& prefix);
    /// Installs the largest uniform block around the address, if it has a route, no block yet and there is
    /// room. Blocks inside it give their place and their score to it. Null: nothing was installed.
    HotBlock* install(const IpAddress& address);
    /// The block that decides for the address, null: none does.
    [[nodiscard]] HotBlock* covering(const IpAddress& address);
    bool evict(const Prefix& block);
    /// All blocks go.
    void clear();
    /// The stages hold the full table itself, without blocks, from now on; or no more. Where the FIB is too
    /// full to take blocks out, they stay, and holds_all() is what it was.
    void hold_all(bool all);
    [[nodiscard]] bool holds_all() const { return holds_all_; }
    /// Prefixes of the full table.
    [[nodiscard]] size_t prefixes() const {
        return image_.prefix_count(Family::ipv4, full_) + image_.prefix_count(Family::ipv6, full_);
    }

    using Visit = std::function<void(const Prefix& block, HotBlock& state)>;
    void for_each(const Visit& visit);
    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] fib::TableId table() const { return table_; }
    /// Blocks are dated with it.
    void set_tick(uint32_t tick) { tick_ = tick; }

  private:
    template <class Key>
    Result<void> before_change(HotBlocks<Key>& blocks, const Key& key);
    template <class Key>
    Result<void> cut_out(HotBlocks<Key>& blocks, const Key& block, const Key& hole);
    template <class Key>
    HotBlock* install(HotBlocks<Key>& blocks, const Key& key, fib::GroupId group);
    template <class Key>
    bool erase(HotBlocks<Key>& blocks, const Key& key);
    [[nodiscard]] bool memory_is_short() const;

    fib::FibImage& image_;
    fib::TableId table_;
    fib::TableId full_;
    HotBlocks<fib::PrefixKey4> v4_;
    HotBlocks<fib::PrefixKey6> v6_;
    size_t budget_ = 0;
    bool holds_all_ = false;
    uint32_t tick_ = 0;
    Counts counts_;
};

}  // namespace pktpit::router
