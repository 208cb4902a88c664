// SPDX-License-Identifier: BSD-3-Clause
#include "router/hot/hot_routes.h"

#include <algorithm>
#include <optional>

namespace pktpit::router {
namespace {

/// No block is larger: a change inside one touches at most so much.
constexpr unsigned shortest4 = 8;
constexpr unsigned shortest6 = 16;
/// Of a block in which a route changes so many parts are kept, the larger ones.
constexpr unsigned parts_kept = 8;
/// The part of the table memory that is left to the full table's changes.
constexpr uint64_t reserve_divisor = 8;

}  // namespace

bool HotRoutes::memory_is_short() const {
    const auto usage = image_.usage();
    return usage.node_bytes_taken > usage.node_bytes_capacity - usage.node_bytes_capacity / reserve_divisor;
}

template <class Key>
bool HotRoutes::erase(HotBlocks<Key>& blocks, const Key& key) {
    const auto at = blocks.all().find(key);
    if (at == blocks.all().end() || !image_.erase(key.prefix(), table_)) return false;
    blocks.all().erase(at);
    return true;
}

/// The block without `hole`: the halves beside the way down to it, which stay uniform. They come first, so
/// that packets to them are decided here all the time.
template <class Key>
Result<void> HotRoutes::cut_out(HotBlocks<Key>& blocks, const Key& block, const Key& hole) {
    const HotBlock before = blocks.all().at(block);
    const unsigned last = std::min(hole.length, block.length + parts_kept);
    const size_t free = budget_ > size() ? budget_ - size() + 1 : 1;
    std::vector<Key> parts;
    for (unsigned length = block.length + 1; length <= last && parts.size() < free; length++) {
        Prefix other = hole.shortened(length).prefix();
        other.address.bytes[(length - 1) / 8] ^= static_cast<uint8_t>(0x80 >> (length - 1) % 8);
        const Key beside = Key::of(other);
        if (!image_.set(beside.prefix(), before.group, table_)) break;
        parts.push_back(beside);
    }
    if (!erase(blocks, block)) {
        for (const Key& part : parts)
            (void)image_.erase(part.prefix(), table_);
        return fail(block.prefix().to_string(), "cannot be taken out of the ports' table: the FIB is full",
                    {}, "raise /fib/table_memory_mib");
    }
    for (const Key& part : parts)
        blocks.all().emplace(
            part, HotBlock{before.group, before.since, before.score / static_cast<double>(parts.size())});
    counts_.invalidated++;
    return {};
}

template <class Key>
Result<void> HotRoutes::before_change(HotBlocks<Key>& blocks, const Key& key) {
    if (const auto cover = blocks.cover(key)) return cut_out(blocks, *cover, key);
    for (const Key& block : blocks.inside(key)) {
        // A longer prefix around the block decides, or leaves it to one inside: not the one that changes.
        const auto nearest = image_.cover(block.prefix(), full_);
        if (nearest && nearest->length > key.length) continue;
        if (auto cut = cut_out(blocks, block, block); !cut) return cut;
    }
    return {};
}

Result<void> HotRoutes::before_change(const Prefix& prefix) {
    if (size() == 0) return {};
    if (prefix.address.is_v4()) return before_change(v4_, fib::PrefixKey4::of(prefix));
    return before_change(v6_, fib::PrefixKey6::of(prefix));
}

template <class Key>
HotBlock* HotRoutes::install(HotBlocks<Key>& blocks, const Key& key, fib::GroupId group) {
    const auto absorbed = blocks.inside(key);
    if (size() - absorbed.size() >= budget_) return nullptr;
    if (!image_.set(key.prefix(), group, table_)) return nullptr;
    HotBlock state{group, tick_, 0};
    // They say the same as the new one, so that it does not matter when they go.
    for (const Key& inner : absorbed) {
        state.score += blocks.all().at(inner).score;
        (void)image_.erase(inner.prefix(), table_);
        blocks.all().erase(inner);
    }
    counts_.promoted++;
    return &blocks.all().emplace(key, state).first->second;
}

HotBlock* HotRoutes::install(const IpAddress& address) {
    if (holds_all_) return nullptr;
    const fib::GroupId group = image_.lookup(address, full_);
    if (group == 0 || covering(address) || memory_is_short()) return nullptr;
    const Prefix block = image_.uniform_block(address, address.is_v4() ? shortest4 : shortest6, full_);
    if (address.is_v4()) return install(v4_, fib::PrefixKey4::of(block), group);
    return install(v6_, fib::PrefixKey6::of(block), group);
}

HotBlock* HotRoutes::covering(const IpAddress& address) {
    if (address.is_v4()) return v4_.covering(fib::PrefixKey4::of(address, 32));
    return v6_.covering(fib::PrefixKey6::of(address, 128));
}

bool HotRoutes::evict(const Prefix& block) {
    const bool gone = block.address.is_v4() ? erase(v4_, fib::PrefixKey4::of(block))
                                            : erase(v6_, fib::PrefixKey6::of(block));
    counts_.evicted += gone;
    return gone;
}

void HotRoutes::clear() {
    std::vector<Prefix> blocks;
    for_each([&](const Prefix& block, HotBlock&) { blocks.push_back(block); });
    for (const Prefix& block : blocks)
        evict(block);
}

void HotRoutes::hold_all(bool all) {
    if (all == holds_all_) return;
    if (all) clear();
    if (size() != 0) return;  // blocks that a full FIB cannot take out: another time
    image_.mirror(table_, all ? std::optional(full_) : std::nullopt);
    holds_all_ = all;
}

void HotRoutes::set_budget(size_t blocks) {
    budget_ = blocks;
    if (size() <= budget_) return;
    std::vector<Prefix> all;
    for_each([&](const Prefix& block, HotBlock&) { all.push_back(block); });
    for (size_t i = 0; i + budget_ < all.size(); i++)
        evict(all[i]);
}

void HotRoutes::for_each(const Visit& visit) {
    for (auto& [key, state] : v4_.all())
        visit(key.prefix(), state);
    for (auto& [key, state] : v6_.all())
        visit(key.prefix(), state);
}

}  // namespace pktpit::router
