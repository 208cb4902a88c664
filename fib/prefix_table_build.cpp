// SPDX-License-Identifier: BSD-3-Clause
// Making nodes: the right kind and size for the prefixes inside them, with the answers of what stood there.
#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "fib/prefix_table.h"

namespace pktpit::fib {
namespace {

/// A cache line: a node of elements that is no larger is as good as a sparse one, and changes in place.
constexpr unsigned line_bits = 6;

}  // namespace

/// What `source` says about the first address of `base`, which lies inside what it stands for.
template <class Key>
GroupId PrefixTable<Key>::decided(Source source, const Key& base) const {
    auto [entry, at] = source;
    while (is_node(entry)) {
        const pp_fib_kind kind = kind_of(entry);
        if (kind == PP_FIB_ROOT) {
            entry = nodes_.element(entry, base.bits_at(0, 16));
            at = 16;
        } else if (kind == PP_FIB_SORTED) {
            const pp_fib_sorted& sorted = *nodes_.sorted(entry);
            const auto after =
                std::upper_bound(std::begin(sorted.first), std::end(sorted.first), base.bits_at(at, 16));
            return sorted.id[after - std::begin(sorted.first) - 1];
        } else {
            entry = nodes_.element(entry, base.bits_at(at, 8) >> PP_FIB_SHIFT(entry));
            at += 8;
        }
    }
    return entry;
}

/// Replaces what `slot`, which stands for `base`, leads to by nodes made for the prefixes inside, `added` as
/// well. No element's answer changes.
template <class Key>
bool PrefixTable<Key>::rebuild(Entry* slot, const Key& base, const Key* added, GroupId group) {
    std::vector<Key>& inside = inside_;
    inside.clear();
    if (is_node(*slot))
        tree_.for_each_inside(base, Key::bits, [&](const Key& key) { inside.push_back(key); });
    if (base.length < PrefixTree<Key>::short_bits) std::ranges::sort(inside);
    if (added && added->length > base.length) {
        const auto place = std::ranges::lower_bound(inside, *added);
        if (place == inside.end() || *place != *added) inside.insert(place, *added);
    }
    const Entry before = *slot;
    const auto built = build(base, inside, {before, base.length}, kind_for(group));
    if (!built) return false;
    nodes_.publish(slot, *built);
    retire_all(before);
    return true;
}

/// `inside`: the prefixes inside `base`, in order. `source`: what stands there now. `least`: the kind that
/// elements must have at least.
template <class Key>
std::optional<Entry> PrefixTable<Key>::build(const Key& base, std::span<const Key> inside, Source source,
                                             pp_fib_kind least) {
    if (inside.empty()) return decided(source, base);
    unsigned longest = 0;
    for (const Key& key : inside)
        longest = std::max(longest, key.length);
    const bool one_node = longest <= base.length + 8;
    if (one_node) {
        const auto made =
            build_elements(base, longest, source, least, sparse_nodes ? line_bits : most_size_bits);
        if (made.suits) return made.entry;
    }
    if (sparse_nodes && least <= PP_FIB_IDS2 && longest <= base.length + 16 &&
        base.length + 16 <= Key::bits) {
        const auto made = build_sorted(base, inside, source);
        if (made.suits) return made.entry;
    }
    if (one_node) return build_elements(base, longest, source, least, most_size_bits).entry;
    return build_entries(base, inside, source, least);
}

template <class Key>
auto PrefixTable<Key>::build_elements(const Key& base, unsigned longest, Source source, pp_fib_kind least,
                                      unsigned most_bits) -> Made {
    // What a node takes at least is put to use: fewer nodes to be made anew later.
    const unsigned stride = std::max(longest - base.length, least_size_bits - width_bits(least));
    if (size_bits_for(least, stride) > most_bits) return {};
    std::array<GroupId, 256> ids;
    pp_fib_kind kind = least;
    for (unsigned i = 0; i < 1u << stride; i++) {
        ids[i] = decided(source, base.extended(stride, i));
        kind = std::max(kind, kind_for(ids[i]));
    }
    if (size_bits_for(kind, stride) > most_bits) return {};
    const auto node = nodes_.make(kind, stride);
    for (unsigned i = 0; node && i < 1u << stride; i++)
        nodes_.set_element(*node, i, ids[i]);
    return {true, node};
}

/// Intervals begin where a prefix begins and behind its end, whatever the ids: so each lies inside or outside
/// of a prefix as a whole, and fill_sorted() needs no new node.
template <class Key>
auto PrefixTable<Key>::build_sorted(const Key& base, std::span<const Key> inside, Source source) -> Made {
    if (inside.size() >= 2 * PP_FIB_SORTED_INTERVALS) return {};
    // The first, and two for each prefix.
    std::array<unsigned, 4 * PP_FIB_SORTED_INTERVALS> firsts;
    auto end_of_firsts = firsts.begin();
    *end_of_firsts++ = 0;
    for (const Key& key : inside) {
        const unsigned first = key.bits_at(base.length, 16);
        const unsigned end = first + (1u << (base.length + 16 - key.length));
        *end_of_firsts++ = first;
        if (end <= 0xffff) *end_of_firsts++ = end;
    }
    std::sort(firsts.begin(), end_of_firsts);
    end_of_firsts = std::unique(firsts.begin(), end_of_firsts);
    if (end_of_firsts - firsts.begin() > PP_FIB_SORTED_INTERVALS) return {};
    std::fill(end_of_firsts, firsts.end(), 0xffff);
    pp_fib_sorted value{};
    for (size_t i = 0; i < PP_FIB_SORTED_INTERVALS; i++) {
        const GroupId id = decided(source, base.extended(16, firsts[i]));
        if (kind_for(id) > PP_FIB_IDS2) return {};
        value.first[i] = static_cast<uint16_t>(firsts[i]);
        value.id[i] = static_cast<uint16_t>(id);
    }
    return {true, nodes_.make_sorted(value)};
}

template <class Key>
std::optional<Entry> PrefixTable<Key>::build_entries(const Key& base, std::span<const Key> inside,
                                                     Source source, pp_fib_kind least) {
    const unsigned at = base.length;
    std::array<Entry, 256> entries{};
    std::optional<Entry> node;
    auto next = inside.begin();
    for (unsigned i = 0; i < entries.size(); i++) {
        // A prefix comes before those inside it, so the slot's own is followed by what lies below.
        while (next != inside.end() && next->length <= at + 8 && next->bits_at(at, 8) <= i)
            ++next;
        const auto first = next;
        while (next != inside.end() && next->length > at + 8 && next->bits_at(at, 8) == i)
            ++next;
        // Nearly all slots of a new node are empty, and mostly stand for what one entry said.
        const auto built = first == next && !is_node(source.entry)
                               ? source.entry
                               : build(base.extended(8, i), std::span(first, next), source, least);
        if (!built) break;
        entries[i] = *built;
        if (i + 1 == entries.size()) node = nodes_.make(PP_FIB_ENTRIES, 8);
    }
    for (unsigned i = 0; i < entries.size(); i++) {
        if (node)
            nodes_.set_element(*node, i, entries[i]);
        else
            drop_all(entries[i]);
    }
    return node;
}

template <class Key>
void PrefixTable<Key>::drop_all(Entry entry) {
    if (!is_node(entry)) return;
    if (has_nodes_below(entry))
        for (unsigned i = 0; i < element_count(entry); i++)
            drop_all(nodes_.element(entry, i));
    nodes_.drop(entry);
}

template <class Key>
void PrefixTable<Key>::retire_all(Entry entry) {
    if (!is_node(entry)) return;
    if (has_nodes_below(entry))
        for (unsigned i = 0; i < element_count(entry); i++)
            retire_all(nodes_.element(entry, i));
    nodes_.retire(entry);
}

/// Gives the table a root of 65,536 entries, if there is one left; else it stays as it is.
template <class Key>
void PrefixTable<Key>::grow_root() {
    const auto root = nodes_.make_root();
    if (!root) return;
    const Source source{*top_, 0};
    for (unsigned i = 0; i < PP_FIB_ROOT_ENTRIES; i++)
        nodes_.set_element(*root, i, decided(source, Key{}.extended(16, i)));
    std::vector<Key> inside;
    const auto build_slot = [&] {
        if (inside.empty()) return true;
        const Key base = inside.front().shortened(16);
        const auto built = build(base, inside, source, PP_FIB_IDS1);
        if (built) nodes_.set_element(*root, base.bits_at(0, 16), *built);
        inside.clear();
        return built.has_value();
    };
    bool room = true;
    tree_.for_each_long([&](const Key& key) {
        if (!inside.empty() && key.shortened(16) != inside.front().shortened(16)) room = room && build_slot();
        inside.push_back(key);
    });
    if (!room || !build_slot()) return drop_all(*root);
    const Entry before = *top_;
    nodes_.publish(top_, *root);
    retire_all(before);
    tree_.split();
}

template <class Key>
bool PrefixTable<Key>::is_larger_than_needed(Entry node, const Key& base) const {
    if (has_nodes_below(node)) {
        for (unsigned i = 0; i < element_count(node); i++)
            if (is_node(nodes_.element(node, i))) return false;
        return true;
    }
    if (kind_of(node) == PP_FIB_SORTED) return false;
    unsigned longest = 0;
    pp_fib_kind kind = PP_FIB_IDS1;
    tree_.for_each_inside(base, Key::bits, [&](const Key& key) { longest = std::max(longest, key.length); });
    for (unsigned i = 0; i < element_count(node); i++)
        kind = std::max(kind, kind_for(nodes_.element(node, i)));
    return size_bits_for(kind, longest - base.length) < size_bits_of(node);
}

/// False: no memory to move things to.
template <class Key>
bool PrefixTable<Key>::compact_below(Entry* slot, const Key& base, size_t& looked_at) {
    const Entry node = *slot;
    if (!is_node(node)) return true;
    looked_at++;
    if (has_nodes_below(node))
        for (unsigned i = 0; i < element_count(node); i++)
            if (is_node(nodes_.element(node, i)) &&
                !compact_below(nodes_.slot(node, i), base.extended(8, i), looked_at))
                return false;
    if (is_larger_than_needed(node, base)) return rebuild(slot, base, nullptr, 0);
    if (!nodes_.space().evacuating(place_of(node))) return true;
    return nodes_.move(slot);
}

template <class Key>
uint32_t PrefixTable<Key>::compact(uint32_t first, size_t budget) {
    const uint64_t before = nodes_.space().used_bytes();
    size_t looked_at = 0;
    uint32_t next = 0;
    if (!is_node_of(*top_, PP_FIB_ROOT)) {
        compact_below(top_, Key{}, looked_at);
    } else {
        bool room = true;
        for (next = first; room && next < PP_FIB_ROOT_ENTRIES && looked_at < budget; next++)
            room = compact_below(nodes_.slot(*top_, next), Key{}.extended(16, next), looked_at);
        if (!room || next == PP_FIB_ROOT_ENTRIES) next = 0;
    }
    used_bytes_ += nodes_.space().used_bytes() - before;
    return next;
}

template class PrefixTable<PrefixKey4>;
template class PrefixTable<PrefixKey6>;

}  // namespace pktpit::fib
