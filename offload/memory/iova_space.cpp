// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/iova_space.h"

#include <algorithm>

namespace pktpit::offload {
namespace {

constexpr Iova lowest = 1 << 20;

}  // namespace

std::vector<IovaRange> intersection(const std::vector<IovaRange>& one, const std::vector<IovaRange>& other) {
    std::vector<IovaRange> both;
    for (const IovaRange& a : one)
        for (const IovaRange& b : other) {
            const IovaRange common{std::max(a.first, b.first), std::min(a.last, b.last)};
            if (common.first <= common.last) both.push_back(common);
        }
    return both;
}

IovaSpace::IovaSpace(std::vector<IovaRange> usable) : usable_(std::move(usable)) {
    for (const IovaRange& range : usable_)
        give(range);
    reserve({0, lowest - 1});
}

void IovaSpace::reserve(IovaRange range) {
    if (range.first > range.last) return;
    reserved_.push_back(range);
    take(range);
}

void IovaSpace::take(IovaRange range) {
    std::vector<IovaRange> left;
    for (const IovaRange& piece : free_) {
        if (piece.last < range.first || piece.first > range.last) {
            left.push_back(piece);
            continue;
        }
        if (piece.first < range.first) left.push_back({piece.first, range.first - 1});
        if (piece.last > range.last) left.push_back({range.last + 1, piece.last});
    }
    free_ = std::move(left);
}

std::optional<Iova> IovaSpace::allocate(uint64_t bytes, uint64_t alignment) {
    if (bytes == 0) return std::nullopt;
    for (const IovaRange& piece : free_) {
        const Iova at = (piece.first + alignment - 1) & ~(alignment - 1);
        if (at < piece.first || at > piece.last || piece.last - at < bytes - 1) continue;
        take({at, at + bytes - 1});
        return at;
    }
    return std::nullopt;
}

void IovaSpace::free(Iova iova, uint64_t bytes) {
    give({iova, iova + bytes - 1});
    // It may have been reserved while it was in use.
    for (const IovaRange& range : reserved_)
        take(range);
}

void IovaSpace::give(IovaRange range) {
    if (range.first > range.last) return;
    std::vector<IovaRange> merged;
    for (const IovaRange& other : free_) {
        // Neighbours are one; the first address has none before it, the last none behind it.
        const bool before = other.last < range.first && range.first - other.last > 1;
        const bool behind = other.first > range.last && other.first - range.last > 1;
        if (before || behind)
            merged.push_back(other);
        else
            range = {std::min(range.first, other.first), std::max(range.last, other.last)};
    }
    merged.push_back(range);
    std::ranges::sort(merged, {}, &IovaRange::first);
    free_ = std::move(merged);
}

bool IovaSpace::usable(IovaRange range) const {
    return std::ranges::any_of(usable_, [&](const IovaRange& piece) {
        return piece.first <= range.first && range.last <= piece.last && range.first <= range.last;
    });
}

}  // namespace pktpit::offload
