// SPDX-License-Identifier: BSD-3-Clause
/// Reading and making table entries (fib/layout.h) in C++, and the sizes of the nodes they lead to. Any
/// thread; plain values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fib/layout.h"

namespace pktpit::fib {

using Entry = uint32_t;

inline bool is_node(Entry entry) {
    return entry & PP_FIB_NODE;
}
inline pp_fib_kind kind_of(Entry entry) {
    return static_cast<pp_fib_kind>(PP_FIB_KIND(entry));
}
inline bool is_node_of(Entry entry, pp_fib_kind kind) {
    return is_node(entry) && kind_of(entry) == kind;
}
/// Address bits that a node of ids or entries decides by, 0 to 8.
inline unsigned stride_of(Entry entry) {
    return 8 - PP_FIB_SHIFT(entry);
}
inline uint32_t place_of(Entry entry) {
    return entry & PP_FIB_PLACE_MASK;
}
inline Entry make_entry(pp_fib_kind kind, unsigned stride, uint32_t place) {
    return PP_FIB_NODE | static_cast<uint32_t>(kind) << 28 | (8 - stride) << 24 | place;
}
inline bool has_elements(pp_fib_kind kind) {
    return kind <= PP_FIB_ENTRIES;
}
/// May its elements lead to other nodes? Entries of a smaller stride are used for large ids alone.
inline bool has_nodes_below(Entry node) {
    return kind_of(node) == PP_FIB_ROOT || (kind_of(node) == PP_FIB_ENTRIES && stride_of(node) == 8);
}
/// Of ids, entries and roots.
inline unsigned element_count(Entry node) {
    return kind_of(node) == PP_FIB_ROOT ? PP_FIB_ROOT_ENTRIES : 1u << stride_of(node);
}
/// Of ids and entries: log2 of an element's bytes.
inline unsigned width_bits(pp_fib_kind kind) {
    return static_cast<unsigned>(kind);
}
/// The narrowest kind whose elements hold the id.
inline pp_fib_kind kind_for(uint32_t group) {
    return group <= 0xff ? PP_FIB_IDS1 : group <= 0xffff ? PP_FIB_IDS2 : PP_FIB_ENTRIES;
}

/// Nodes take 2^4 to 2^10 bytes.
inline constexpr unsigned least_size_bits = 4;
inline constexpr unsigned most_size_bits = 10;

inline unsigned size_bits_for(pp_fib_kind kind, unsigned stride) {
    if (kind == PP_FIB_SORTED) return std::bit_width(sizeof(pp_fib_sorted)) - 1;
    return std::max(least_size_bits, stride + width_bits(kind));
}
inline unsigned size_bits_of(Entry entry) {
    return size_bits_for(kind_of(entry), stride_of(entry));
}

}  // namespace pktpit::fib
