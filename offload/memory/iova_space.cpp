#include "offload/memory/iova_space.h"

#include <algorithm>

namespace pktpit::offload {
namespace {

constexpr Iova lowest = 1 << 20;

}  // namespace

IovaSpace::IovaSpace(std::vector<IovaRange> usable) : usable_(std::move(usable)) {
    for (const IovaRange& range : usable_)
        if (range.first <= range.last) free_.push_back(range);
    std::ranges::sort(free_, {}, &IovaRange::first);
    reserve({0, lowest - 1});
}

void IovaSpace::reserve(IovaRange range) {
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
        reserve({at, at + bytes - 1});
        return at;
    }
    return std::nullopt;
}

void IovaSpace::free(Iova iova, uint64_t bytes) {
    IovaRange piece{iova, iova + bytes - 1};
    std::vector<IovaRange> merged;
    for (const IovaRange& other : free_) {
        if (other.last + 1 == piece.first)
            piece.first = other.first;
        else if (piece.last + 1 == other.first)
            piece.last = other.last;
        else
            merged.push_back(other);
    }
    merged.push_back(piece);
    std::ranges::sort(merged, {}, &IovaRange::first);
    free_ = std::move(merged);
}

bool IovaSpace::usable(IovaRange range) const {
    return std::ranges::any_of(usable_, [&](const IovaRange& piece) {
        return piece.first <= range.first && range.last <= piece.last && range.first <= range.last;
    });
}

}  // namespace pktpit::offload
