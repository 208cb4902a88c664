// SPDX-License-Identifier: BSD-3-Clause
#include "fib/prefix_table.h"

#include <array>
#include <bit>
#include <cassert>
#include <vector>

namespace pktpit::fib {
namespace {

/// From so many prefixes on a table is worth a root of its own: 256 KiB, and one step less for each lookup.
constexpr size_t worth_a_root = 2048;

/// Which of a node's elements longer prefixes decide.
class Covered {
  public:
    explicit Covered(size_t count) {
        if (count > few_.size()) many_.resize(count);
    }
    void mark(size_t first, size_t count) { std::fill_n(cells() + first, count, uint8_t{1}); }
    bool operator[](size_t index) const { return many_.empty() ? few_[index] : many_[index]; }

  private:
    uint8_t* cells() { return many_.empty() ? few_.data() : many_.data(); }

    std::array<uint8_t, 256> few_{};
    std::vector<uint8_t> many_;
};

struct Span {
    unsigned first;
    unsigned count;
};

/// The elements that `range` takes of a node at bit `at`, `stride` bits wide.
template <class Key>
Span elements_of(const Key& range, unsigned at, unsigned stride) {
    if (range.length <= at) return {0, 1u << stride};
    if (stride == 0) return {0, 1};
    assert(range.length <= at + stride);
    return {range.bits_at(at, stride), 1u << (at + stride - range.length)};
}

}  // namespace

template <class Key>
PrefixTable<Key>::PrefixTable(Nodes& nodes, Entry* top, bool rooted) : nodes_(nodes), top_(top) {
    if (!rooted) return;
    const uint64_t before = nodes_.space().used_bytes();
    grow_root();
    used_bytes_ = nodes_.space().used_bytes() - before;
}

template <class Key>
bool PrefixTable<Key>::set(const Key& key, GroupId group) {
    Place place = tree_.locate(key);
    if (place.present && place.group() == group) return true;
    const uint64_t before = nodes_.space().used_bytes();
    const bool room = make_room(top_, Key{}, key, group);
    if (room) {
        const bool is_new = !place.present;
        tree_.set(place, group);
        fill(top_, 0, key, group, &place);
        // Tried at each doubling alone: where no root is left, it may have waited for readers in vain.
        if (is_new && tree_.size() >= worth_a_root && std::has_single_bit(tree_.size()) &&
            !is_node_of(*top_, PP_FIB_ROOT))
            grow_root();
    }
    used_bytes_ += nodes_.space().used_bytes() - before;
    return room;
}

template <class Key>
std::optional<bool> PrefixTable<Key>::erase(const Key& key) {
    Place place = tree_.locate(key);
    if (!place.present) return false;
    const auto cover = tree_.cover(place);
    const GroupId group = cover ? cover->second : 0;
    const uint64_t before = nodes_.space().used_bytes();
    const bool room = make_room(top_, Key{}, key, group);
    if (room) {
        tree_.erase(place);
        fill(top_, 0, key, group, &place);
        collapse(place);
    }
    used_bytes_ += nodes_.space().used_bytes() - before;
    return room ? std::optional(true) : std::nullopt;
}

/// Can the node's elements tell `key` from the rest, and hold the group?
template <class Key>
bool PrefixTable<Key>::has_room(Entry node, unsigned at, const Key& key, GroupId group) const {
    const pp_fib_kind kind = kind_of(node);
    if (kind != PP_FIB_SORTED) return key.length <= at + stride_of(node) && kind_for(group) <= kind;
    if (key.length > at + 16 || kind_for(group) > PP_FIB_IDS2) return false;
    if (key.length <= at) return true;
    const pp_fib_sorted& sorted = *nodes_.sorted(node);
    const auto [first, count] = elements_of(key, at, 16);
    // What is unused begins at 0xffff, and so serves as the interval of that value alone.
    const auto begins_at = [&](unsigned value) {
        return std::find(std::begin(sorted.first), std::end(sorted.first), value) != std::end(sorted.first);
    };
    return begins_at(first) && (first + count > 0xffff || begins_at(first + count));
}

/// Makes the nodes that `key`'s addresses meet from `slot` on, which stands for `base`, fit for it.
template <class Key>
bool PrefixTable<Key>::make_room(Entry* slot, const Key& base, const Key& key, GroupId group) {
    const unsigned at = base.length;
    if (!is_node(*slot)) return key.length <= at || rebuild(slot, base, &key, group);
    if (!nodes_.own(slot)) return false;
    if (!has_nodes_below(*slot)) return has_room(*slot, at, key, group) || rebuild(slot, base, &key, group);
    const unsigned stride = kind_of(*slot) == PP_FIB_ROOT ? 16 : 8;
    if (key.length > at + stride)
        return make_room(nodes_.slot(*slot, key.bits_at(at, stride)), key.shortened(at + stride), key, group);
    const auto [first, count] = elements_of(key, at, stride);
    for (unsigned i = first; i < first + count; i++) {
        Entry* below = nodes_.slot(*slot, i);
        if (is_node(*below) && !make_room(below, base.extended(stride, i), key, group)) return false;
    }
    return true;
}

/// `place`: where `range` stands among the prefixes, if that is known.
template <class Key>
template <class Visit>
void PrefixTable<Key>::for_each_inside(const Key& range, const Place* place, unsigned longest,
                                       Visit visit) const {
    if (place)
        tree_.for_each_inside(*place, longest, visit);
    else
        tree_.for_each_inside(range, longest, visit);
}

/// Gives what no longer prefix decides of `range`, which lies inside what `slot` stands for, to the group.
template <class Key>
void PrefixTable<Key>::fill(Entry* slot, unsigned at, const Key& range, GroupId group, const Place* place) {
    const Entry node = *slot;
    if (!is_node(node)) return nodes_.publish(slot, group);
    if (kind_of(node) == PP_FIB_SORTED) return fill_sorted(node, at, range, group, place);
    const unsigned stride = kind_of(node) == PP_FIB_ROOT ? 16 : stride_of(node);
    if (range.length > at + stride)
        return fill(nodes_.slot(node, range.bits_at(at, stride)), at + stride, range, group, place);
    fill_elements(node, at, range, group, place);
}

template <class Key>
void PrefixTable<Key>::fill_elements(Entry node, unsigned at, const Key& range, GroupId group,
                                     const Place* place) {
    const unsigned stride = kind_of(node) == PP_FIB_ROOT ? 16 : stride_of(node);
    const bool entries = kind_of(node) >= PP_FIB_ENTRIES;
    const auto [first, count] = elements_of(range, at, stride);
    Covered covered(count);
    // Longer ones lie in nodes below, which see to themselves.
    const unsigned longest = at + stride;
    if (range.length < longest)
        for_each_inside(range, place, longest, [&, first = first](const Key& inside) {
            const Span span = elements_of(inside, at, stride);
            covered.mark(span.first - first, span.count);
        });
    for (unsigned i = 0; i < count; i++) {
        if (covered[i]) continue;
        if (entries && is_node(nodes_.element(node, first + i)))
            fill(nodes_.slot(node, first + i), at + stride, range.shortened(at).extended(stride, first + i),
                 group, nullptr);
        else
            nodes_.set_element(node, first + i, group);
    }
}

/// Each interval lies inside or outside any prefix as a whole: its first value tells.
template <class Key>
void PrefixTable<Key>::fill_sorted(Entry node, unsigned at, const Key& range, GroupId group,
                                   const Place* place) {
    pp_fib_sorted& sorted = *nodes_.sorted(node);
    const auto [first, count] = elements_of(range, at, 16);
    const auto intervals_in = [&sorted](unsigned from, unsigned number) {
        uint32_t intervals = 0;
        for (unsigned i = 0; i < PP_FIB_SORTED_INTERVALS; i++)
            if (sorted.first[i] >= from && sorted.first[i] - from < number) intervals |= 1u << i;
        return intervals;
    };
    uint32_t wanted = intervals_in(first, count);
    for_each_inside(range, place, at + 16, [&](const Key& inside) {
        const Span span = elements_of(inside, at, 16);
        wanted &= ~intervals_in(span.first, span.count);
    });
    for (unsigned i = 0; i < PP_FIB_SORTED_INTERVALS; i++)
        if (wanted >> i & 1) store_relaxed(sorted.id + i, static_cast<uint16_t>(group));
}

template <class Key>
bool PrefixTable<Key>::is_uniform(Entry entry, unsigned at, const Key& range, GroupId group) const {
    if (!is_node(entry)) return entry == group;
    if (kind_of(entry) == PP_FIB_SORTED) {
        const pp_fib_sorted& sorted = *nodes_.sorted(entry);
        const auto [first, count] = elements_of(range.shortened(std::min(range.length, at + 16)), at, 16);
        for (unsigned i = 0; i < PP_FIB_SORTED_INTERVALS; i++) {
            // Unused intervals repeat the last one's id, and so do no harm.
            const bool last = i + 1 == PP_FIB_SORTED_INTERVALS;
            const bool before = !last && sorted.first[i + 1] <= first;
            if (!before && sorted.first[i] < first + count && sorted.id[i] != group) return false;
        }
        return true;
    }
    const unsigned stride = kind_of(entry) == PP_FIB_ROOT ? 16 : stride_of(entry);
    const bool entries = kind_of(entry) >= PP_FIB_ENTRIES;
    if (range.length > at + stride) {
        const uint32_t below = nodes_.element(entry, stride == 0 ? 0 : range.bits_at(at, stride));
        return entries ? is_uniform(below, at + stride, range, group) : below == group;
    }
    const auto [first, count] = elements_of(range, at, stride);
    for (unsigned i = first; i < first + count; i++) {
        const uint32_t below = nodes_.element(entry, i);
        if (entries && is_node(below) ? !is_uniform(below, at + stride, range, group) : below != group)
            return false;
    }
    return true;
}

/// Replaces nodes that no prefix is left in by what they say, from the deepest on.
template <class Key>
void PrefixTable<Key>::collapse(const Place& place) {
    const Key& key = place.key;
    struct Step {
        Entry* slot;
        unsigned at;
    };
    std::array<Step, Key::bits / 8 + 1> way{};
    size_t steps = 0;
    Entry* slot = top_;
    unsigned at = 0;
    while (is_node(*slot)) {
        way[steps++] = {slot, at};
        const pp_fib_kind kind = kind_of(*slot);
        const unsigned stride = kind == PP_FIB_ROOT ? 16 : 8;
        if (!has_nodes_below(*slot) || key.length <= at + stride) break;
        slot = nodes_.slot(*slot, key.bits_at(at, stride));
        at += stride;
    }
    while (steps-- > 0) {
        const Entry node = *way[steps].slot;
        const Key base = key.shortened(std::min(key.length, way[steps].at));
        if (kind_of(node) == PP_FIB_ROOT || base.length < way[steps].at || tree_.any_inside(base, place))
            return;
        nodes_.publish(way[steps].slot, decided({node, way[steps].at}, base));
        retire_all(node);
    }
}

template <class Key>
void PrefixTable<Key>::clear() {
    const Entry top = *top_;
    nodes_.publish(top_, 0);
    retire_all(top);
    tree_ = {};
    used_bytes_ = 0;
}

template class PrefixTable<PrefixKey4>;
template class PrefixTable<PrefixKey6>;

}  // namespace pktpit::fib
