// SPDX-License-Identifier: BSD-3-Clause
#include "fib/nodes.h"

#include <cassert>

namespace pktpit::fib {

Nodes::Nodes(std::byte* memory, uint32_t bytes, uint32_t roots, Reclamation reclamation)
    : memory_(memory), space_(bytes, roots, std::move(reclamation)) {
    for (unsigned i = 0; i < PP_FIB_IDENTITY_BYTES; i++)
        memory_[i] = static_cast<std::byte>(i);
}

std::optional<Entry> Nodes::made(std::optional<uint32_t> place, pp_fib_kind kind, unsigned stride) {
    if (!place) return std::nullopt;
    const Entry entry = make_entry(kind, stride, *place);
    if (in_batch_) fresh_.insert(entry);
    return entry;
}

std::optional<Entry> Nodes::make(pp_fib_kind kind, unsigned stride) {
    assert(has_elements(kind) && stride <= 8);
    return made(space_.take(size_bits_for(kind, stride)), kind, stride);
}

std::optional<Entry> Nodes::make_sorted(const pp_fib_sorted& value) {
    const auto entry = made(space_.take(size_bits_for(PP_FIB_SORTED, 8)), PP_FIB_SORTED, 8);
    if (!entry) return std::nullopt;
    pp_fib_sorted* node = sorted(*entry);
    for (unsigned i = 0; i < PP_FIB_SORTED_INTERVALS; i++) {
        store_relaxed(node->first + i, value.first[i]);
        store_relaxed(node->id + i, value.id[i]);
    }
    return entry;
}

std::optional<Entry> Nodes::make_root() {
    return made(space_.take_root(), PP_FIB_ROOT, 8);
}

void Nodes::drop_place(Entry node) {
    if (kind_of(node) == PP_FIB_ROOT)
        space_.drop_root(place_of(node));
    else
        space_.drop(place_of(node), size_bits_of(node));
}

void Nodes::retire_place(Entry node) {
    if (kind_of(node) == PP_FIB_ROOT)
        space_.retire_root(place_of(node));
    else
        space_.retire(place_of(node), size_bits_of(node));
}

void Nodes::drop(Entry node) {
    fresh_.erase(node);
    drop_place(node);
}

void Nodes::retire(Entry node) {
    if (!in_batch_)
        retire_place(node);
    else if (fresh_.erase(node))
        drop_place(node);
    else
        replace(node);
}

// Atomic, so that the compiler orders it with stores of another width to the same memory.
uint32_t Nodes::element(Entry node, unsigned index) const {
    switch (kind_of(node)) {
        case PP_FIB_IDS1:
            return load_relaxed(reinterpret_cast<const uint8_t*>(at(node)) + index);
        case PP_FIB_IDS2:
            return load_relaxed(reinterpret_cast<const uint16_t*>(at(node)) + index);
        default:
            return load_relaxed(reinterpret_cast<const uint32_t*>(at(node)) + index);
    }
}

void Nodes::set_element(Entry node, unsigned index, uint32_t value) {
    switch (kind_of(node)) {
        case PP_FIB_IDS1:
            return store_relaxed(reinterpret_cast<uint8_t*>(at(node)) + index, static_cast<uint8_t>(value));
        case PP_FIB_IDS2:
            return store_relaxed(reinterpret_cast<uint16_t*>(at(node)) + index, static_cast<uint16_t>(value));
        default:
            return store_release(reinterpret_cast<uint32_t*>(at(node)) + index, value);
    }
}

void Nodes::begin_batch() {
    assert(!in_batch_ && fresh_.empty() && replaced_.empty());
    in_batch_ = true;
}

std::optional<Entry> Nodes::copy(Entry node) {
    if (kind_of(node) == PP_FIB_SORTED) return make_sorted(*sorted(node));
    const auto made = kind_of(node) == PP_FIB_ROOT ? make_root() : make(kind_of(node), stride_of(node));
    for (unsigned i = 0; made && i < element_count(node); i++)
        set_element(*made, i, element(node, i));
    return made;
}

bool Nodes::own(Entry* slot) {
    const Entry node = *slot;
    if (!in_batch_ || fresh_.contains(node)) return true;
    const auto owned = copy(node);
    if (!owned) return false;
    publish(slot, *owned);
    replace(node);
    return true;
}

bool Nodes::move(Entry* slot) {
    const Entry node = *slot;
    const auto moved = copy(node);
    if (!moved) return false;
    publish(slot, *moved);
    retire(node);
    return true;
}

namespace {

uint64_t bytes_of(Entry node) {
    return kind_of(node) == PP_FIB_ROOT ? PP_FIB_ROOT_BYTES : uint64_t{1} << size_bits_of(node);
}

}  // namespace

/// Not reachable any more by the hidden entry, but by the one that readers see.
void Nodes::replace(Entry node) {
    replaced_.push_back(node);
    space_.uncount(bytes_of(node));
}

void Nodes::forget_replaced() {
    for (const Entry node : replaced_)
        space_.recount(bytes_of(node));
}

void Nodes::commit_batch() {
    in_batch_ = false;
    fresh_.clear();
    forget_replaced();
    for (const Entry node : replaced_)
        retire_place(node);
    replaced_.clear();
}

void Nodes::discard_batch() {
    in_batch_ = false;
    forget_replaced();
    for (const Entry node : fresh_)
        drop_place(node);
    fresh_.clear();
    replaced_.clear();
}

}  // namespace pktpit::fib
