// SPDX-License-Identifier: BSD-3-Clause
/// The prefixes of one table and family in a FIB image: which there are, and the nodes made of them.
///
/// Used by fib/tables.h alone. Writer's thread only. A change is made in two steps. The first makes room:
/// nodes deep, wide and fine enough for the new prefix, with the same answers as before, so that it may fail
/// half way and nobody notices. The second stores the new group into every element that no longer prefix
/// decides, each by one store; it cannot fail. What an element says is never kept twice: which prefixes lie
/// inside and which covers them is asked of the ordered set of prefixes (fib/prefix_tree.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fib/image.h"
#include "fib/nodes.h"
#include "fib/prefix_tree.h"

namespace pktpit::fib {

template <class Key>
class PrefixTable {
  public:
    /// `top`: the table's entry of this family, 0 at first. `rooted`: begins with a root if there is one.
    PrefixTable(Nodes& nodes, Entry* top, bool rooted);

    /// False: no memory left, and everything as it was.
    bool set(const Key& key, GroupId group);
    /// Nothing: no memory left (the prefix around it may need wider ids), and everything as it was.
    std::optional<bool> erase(const Key& key);
    [[nodiscard]] std::optional<GroupId> find(const Key& key) const { return tree_.find(key); }
    [[nodiscard]] std::optional<std::pair<Key, GroupId>> match(const Key& address) const {
        return tree_.cover(address, Key::bits);
    }
    /// The longest prefix around `key`, or `key` itself.
    [[nodiscard]] std::optional<std::pair<Key, GroupId>> cover(const Key& key) const {
        return tree_.cover(key, key.length);
    }
    /// The groups of `key` itself, and of the longest prefix around it.
    [[nodiscard]] std::pair<std::optional<GroupId>, std::optional<GroupId>> standing(const Key& key) {
        const Place place = tree_.locate(key);
        const auto around = tree_.cover(place);
        return {place.present ? std::optional(place.group()) : std::nullopt,
                around ? std::optional(around->second) : std::nullopt};
    }
    /// Do readers find this group for every address inside `range`?
    [[nodiscard]] bool is_uniform(const Key& range, GroupId group) const {
        return is_uniform(*top_, 0, range, group);
    }
    [[nodiscard]] size_t size() const { return tree_.size(); }
    /// Bytes of nodes that readers can reach.
    [[nodiscard]] uint64_t used_bytes() const { return used_bytes_; }

    /// Where the entry stands from now on: a batch writes to one that no reader sees.
    void move_top(Entry* top) { top_ = top; }
    /// After a batch that was discarded: what the set of prefixes and the sum held before. No node changes.
    void remember(const Key& key, std::optional<GroupId> group) {
        if (group)
            tree_.set(key, *group);
        else
            tree_.erase(key);
    }
    void restore_used_bytes(uint64_t bytes) { used_bytes_ = bytes; }
    /// Retires all nodes; the table is empty.
    void clear();

    /// Moves nodes off pages that are being evacuated and gives those that are larger than they need be their
    /// right size, from the `first`th 65,536th of the address space on; stops when some `budget` nodes were
    /// looked at and returns where to go on, or 0 at the end.
    uint32_t compact(uint32_t first, size_t budget);

  private:
    static constexpr bool sparse_nodes = Key::bits > 32;

    /// What stands for the addresses that share the first `at` bits.
    struct Source {
        Entry entry;
        unsigned at;
    };
    /// A node that may be made or not: it does not suit these prefixes, or it does and there is no memory.
    struct Made {
        bool suits = false;
        std::optional<Entry> entry;
    };

    bool make_room(Entry* slot, const Key& base, const Key& key, GroupId group);
    [[nodiscard]] bool has_room(Entry node, unsigned at, const Key& key, GroupId group) const;
    bool rebuild(Entry* slot, const Key& base, const Key* added, GroupId group);
    std::optional<Entry> build(const Key& base, std::span<const Key> inside, Source source,
                               pp_fib_kind least);
    Made build_elements(const Key& base, unsigned longest, Source source, pp_fib_kind least,
                        unsigned most_bits);
    Made build_sorted(const Key& base, std::span<const Key> inside, Source source);
    std::optional<Entry> build_entries(const Key& base, std::span<const Key> inside, Source source,
                                       pp_fib_kind least);
    void drop_all(Entry entry);
    void retire_all(Entry entry);
    [[nodiscard]] GroupId decided(Source source, const Key& base) const;

    [[nodiscard]] bool is_uniform(Entry entry, unsigned at, const Key& range, GroupId group) const;

    using Place = typename PrefixTree<Key>::Place;
    void fill(Entry* slot, unsigned at, const Key& range, GroupId group, const Place* place);
    void fill_elements(Entry node, unsigned at, const Key& range, GroupId group, const Place* place);
    void fill_sorted(Entry node, unsigned at, const Key& range, GroupId group, const Place* place);
    template <class Visit>
    void for_each_inside(const Key& range, const Place* place, unsigned longest, Visit visit) const;
    void collapse(const Place& place);
    void grow_root();
    bool compact_below(Entry* slot, const Key& base, size_t& looked_at);
    [[nodiscard]] bool is_larger_than_needed(Entry node, const Key& base) const;

    Nodes& nodes_;
    Entry* top_;
    PrefixTree<Key> tree_;
    uint64_t used_bytes_ = 0;
    std::vector<Key> inside_;  ///< rebuild()'s, kept for its memory
};

extern template class PrefixTable<PrefixKey4>;
extern template class PrefixTable<PrefixKey6>;

}  // namespace pktpit::fib
