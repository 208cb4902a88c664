#include "fib/multibit_table.h"

#include <array>
#include <cassert>
#include <utility>

#include "fib/layout.h"
#include "fib/store.h"

namespace pktpit::fib {
namespace {

/// Level 0 is the root, level n the nth block below it.
unsigned level_of(unsigned length) {
    return length <= 16 ? 0 : (length - 9) / 8;
}

/// Bits decided once the entry at this level is read.
unsigned bits_at(unsigned level) {
    return 16 + 8 * level;
}

/// Where a block at `level` is indexed; `level` is at least 1.
unsigned index_at(const uint8_t* address, unsigned level) {
    return address[level + 1];
}

bool is_block(uint32_t entry) {
    return entry & PP_FIB_ENTRY_BLOCK;
}

}  // namespace

MultibitTable::MultibitTable(uint32_t* root, uint32_t* blocks, uint32_t block_count, unsigned levels,
                             std::function<void()> grace_period)
    : root_(root),
      blocks_(blocks),
      levels_(levels),
      pool_(0, block_count, std::move(grace_period)),
      root_owners_(std::make_unique<uint8_t[]>(PP_FIB_ROOT_ENTRIES)),
      // Left uninitialised, so that pages of blocks never used cost no memory: a block is filled when taken.
      block_owners_(std::make_unique_for_overwrite<uint8_t[]>(size_t{block_count} * PP_FIB_BLOCK_ENTRIES)),
      users_(std::make_unique_for_overwrite<uint16_t[]>(block_count)) {}

MultibitTable::Slot MultibitTable::root_slot(const uint8_t* address) const {
    const unsigned index = address[0] << 8 | address[1];
    return {root_ + index, root_owners_.get() + index};
}

MultibitTable::Slot MultibitTable::block_slot(uint32_t entry, unsigned index) const {
    const size_t offset = size_t{entry & ~PP_FIB_ENTRY_BLOCK} * PP_FIB_BLOCK_ENTRIES + index;
    return {blocks_ + offset, block_owners_.get() + offset};
}

/// Gives every entry in the range, and in blocks below it, whose owner is at most `limit` to `owner`.
void MultibitTable::rewrite(Slot first, unsigned count, uint8_t limit, uint32_t group, uint8_t owner) {
    for (unsigned i = 0; i < count; i++) {
        const uint32_t entry = first.entry[i];
        if (is_block(entry)) {
            rewrite(block_slot(entry, 0), PP_FIB_BLOCK_ENTRIES, limit, group, owner);
        } else if (first.owner[i] <= limit) {
            store_release(first.entry + i, group);
            first.owner[i] = owner;
        }
    }
}

/// Blocks for levels `from` to `to`, complete but not yet reachable; returns the entry that publishes them.
/// `above` is what decides now, and goes on deciding beside the new prefix.
uint32_t MultibitTable::build_chain(const uint8_t* address, unsigned length, uint32_t group, unsigned from,
                                    unsigned to, Slot above) {
    const uint32_t covering_group = *above.entry;
    const uint8_t covering_owner = *above.owner;
    uint32_t below = 0;
    for (unsigned level = to; level >= from; level--) {
        const uint32_t block = pool_.take();
        const Slot slots = block_slot(block, 0);
        users_[block] = 1;
        for (unsigned i = 0; i < PP_FIB_BLOCK_ENTRIES; i++) {
            store_relaxed(slots.entry + i, covering_group);
            slots.owner[i] = covering_owner;
        }
        const Slot mine = block_slot(block, index_at(address, level));
        if (level == to)
            rewrite(mine, 1u << (bits_at(level) - length), covering_owner, group,
                    static_cast<uint8_t>(length + 1));
        else
            store_relaxed(mine.entry, below);
        below = block | PP_FIB_ENTRY_BLOCK;
    }
    return below;
}

bool MultibitTable::insert(const uint8_t* address, unsigned length, uint32_t group, bool is_new) {
    assert(length <= bits_at(levels_));
    const unsigned target = level_of(length);
    Slot slot = root_slot(address);
    uint32_t block = 0;
    unsigned level = 0;
    for (; level < target && is_block(*slot.entry); level++) {
        block = *slot.entry & ~PP_FIB_ENTRY_BLOCK;
        slot = block_slot(block, index_at(address, level + 1));
    }
    if (level < target) {
        if (!pool_.reserve(target - level)) return false;
        const uint32_t chain = build_chain(address, length, group, level + 1, target, slot);
        store_release(slot.entry, chain);
    } else {
        const auto owner = static_cast<uint8_t>(length + 1);
        rewrite(slot, 1u << (bits_at(level) - length), owner, group, owner);
    }
    if (level > 0 && is_new) users_[block]++;
    return true;
}

void MultibitTable::erase(const uint8_t* address, unsigned length, Owner cover) {
    const unsigned target = level_of(length);
    std::array<Slot, PP_FIB_LEVELS6 + 1> path;
    path[0] = root_slot(address);
    for (unsigned level = 1; level <= target; level++)
        path[level] = block_slot(*path[level - 1].entry, index_at(address, level));
    rewrite(path[target], 1u << (bits_at(target) - length), static_cast<uint8_t>(length + 1), cover.group,
            static_cast<uint8_t>(cover.length + 1));
    // A block that nothing ends in any more holds the same entry 256 times: its parent can say that alone.
    for (unsigned level = target; level > 0; level--) {
        const Slot parent = path[level - 1];
        const uint32_t block = *parent.entry & ~PP_FIB_ENTRY_BLOCK;
        assert(users_[block] > 0);
        if (--users_[block] > 0) break;
        const Slot first = block_slot(block, 0);
        *parent.owner = *first.owner;
        store_release(parent.entry, *first.entry);
        pool_.give_back(block);
    }
}

MultibitTable::Owner MultibitTable::match(const uint8_t* address) const {
    Slot slot = root_slot(address);
    for (unsigned level = 1; is_block(*slot.entry); level++)
        slot = block_slot(*slot.entry, index_at(address, level));
    return {*slot.entry, *slot.owner - 1};
}

}  // namespace pktpit::fib
