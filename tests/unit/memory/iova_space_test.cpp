// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/iova_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace pktpit::offload {
namespace {

constexpr Iova mib = 1 << 20;
constexpr Iova page = 4096;
constexpr Iova end = std::numeric_limits<Iova>::max();

TEST(IovaSpace, NoBytesHaveNoPlace) {
    EXPECT_EQ(IovaSpace({{0, 4 * mib - 1}}).allocate(0, page), std::nullopt);
}

TEST(IovaSpace, ReachesTheLastAddressAndDoesNotWrapAround) {
    IovaSpace space({{end - 2 * mib + 1, end}});
    EXPECT_EQ(space.allocate(3 * mib, page), std::nullopt);
    EXPECT_EQ(space.allocate(mib, 4 * mib), std::nullopt);  // aligning up would wrap
    const auto first = space.allocate(mib, page);
    const auto last = space.allocate(mib, page);
    EXPECT_EQ(first, end - 2 * mib + 1);
    EXPECT_EQ(last, end - mib + 1);
    EXPECT_EQ(space.allocate(page, page), std::nullopt);
    space.free(*last, mib);
    space.free(*first, mib);
    EXPECT_EQ(space.allocate(2 * mib, page), end - 2 * mib + 1);
}

TEST(IovaSpace, TheWholeAddressSpaceIsUsable) {
    IovaSpace space({{0, end}});
    EXPECT_TRUE(space.usable({0, end}));
    EXPECT_EQ(space.allocate(page, uint64_t{1} << 63), uint64_t{1} << 63);
    EXPECT_EQ(space.allocate(page, page), mib);
    EXPECT_EQ(space.allocate(end, page), std::nullopt);
    space.reserve({0, end});
    EXPECT_EQ(space.allocate(page, page), std::nullopt);
}

TEST(IovaSpace, UsableAsksForTheWholeRangeAndIgnoresReservations) {
    IovaSpace space({{0, 0xfedfffff}, {0xfef00000, (uint64_t{1} << 39) - 1}});  // the MSI window is missing
    space.reserve({4 * mib, 5 * mib});
    EXPECT_TRUE(space.usable({4 * mib, 5 * mib}));
    EXPECT_TRUE(space.usable({0xfef00000, 0xfef00000}));
    EXPECT_FALSE(space.usable({0xfedff000, 0xfef00000}));
    EXPECT_FALSE(space.usable({uint64_t{1} << 39, uint64_t{1} << 39}));
    EXPECT_FALSE(space.usable({5 * mib, 4 * mib}));
}

TEST(IovaSpace, ARangeThatEndsBeforeItBeginsReservesNothing) {
    IovaSpace space({{mib, 3 * mib - 1}});
    space.reserve({2 * mib, mib + page});
    const auto whole = space.allocate(2 * mib, page);
    EXPECT_EQ(whole, mib);
    EXPECT_EQ(space.allocate(page, page), std::nullopt);
}

TEST(IovaSpace, RangesThatOverlapAreHandedOutOnce) {
    IovaSpace space({{2 * mib, 4 * mib - 1}, {mib, 3 * mib - 1}});
    EXPECT_EQ(space.allocate(3 * mib, page), mib);
    EXPECT_EQ(space.allocate(page, page), std::nullopt);
}

/// The same, a byte a page.
class Bitmap {
  public:
    enum class Page : uint8_t { unusable, free, taken };
    explicit Bitmap(size_t pages) : pages_(pages, Page::unusable), reserved_(pages) {}
    void usable(size_t first, size_t last) {
        for (size_t at = first; at <= last; at++)
            if (at * page >= mib) pages_[at] = Page::free;
    }
    void reserve(size_t first, size_t last) {
        for (size_t at = first; at <= last; at++)
            reserved_[at] = true;
    }
    std::optional<size_t> allocate(size_t count, size_t alignment) {
        for (size_t at = 0; at + count <= pages_.size(); at += alignment) {
            bool fits = true;
            for (size_t i = at; fits && i < at + count; i++)
                fits = pages_[i] == Page::free && !reserved_[i];
            if (!fits) continue;
            std::fill_n(pages_.begin() + static_cast<long>(at), count, Page::taken);
            return at;
        }
        return std::nullopt;
    }
    void free(size_t first, size_t count) {
        std::fill_n(pages_.begin() + static_cast<long>(first), count, Page::free);
    }

  private:
    std::vector<Page> pages_;
    std::vector<bool> reserved_;
};

TEST(IovaSpace, RandomUseAgainstABitmap) {
    constexpr size_t pages = 1024;  // 4 MiB, of which the lowest is never handed out
    for (unsigned seed = 0; seed < 60; seed++) {
        std::mt19937 random(seed);
        const auto below = [&](size_t bound) { return random() % bound; };
        // At the bottom of the address space.
        std::vector<IovaRange> ranges;
        Bitmap naive(pages);
        for (size_t at = below(300); at < pages;) {
            const size_t last = std::min(pages - 1, at + below(400));
            ranges.push_back({at * page, (last + 1) * page - 1});
            naive.usable(at, last);
            at = last + 2 + below(40);
        }
        std::shuffle(ranges.begin(), ranges.end(), random);
        IovaSpace space(ranges);
        struct Taken {
            Iova iova;
            size_t count;
        };
        std::vector<Taken> taken;
        for (int step = 0; step < 400; step++) {
            const size_t what = below(20);
            if (what == 0) {
                const size_t first = below(pages);
                const size_t last = std::min(pages - 1, first + below(12));
                space.reserve({first * page, (last + 1) * page - 1});
                naive.reserve(first, last);
            } else if (what < 12) {
                const size_t count = 1 + below(30);
                const size_t alignment = size_t{1} << below(6);
                const auto got = space.allocate(count * page, alignment * page);
                const auto wanted = naive.allocate(count, alignment);
                ASSERT_EQ(got.has_value(), wanted.has_value()) << "seed " << seed << " step " << step;
                if (!got) continue;
                ASSERT_EQ(*got, *wanted * page) << "seed " << seed << " step " << step;
                taken.push_back({*got, count});
            } else if (!taken.empty()) {
                std::swap(taken[below(taken.size())], taken.back());
                space.free(taken.back().iova, taken.back().count * page);
                naive.free(taken.back().iova / page, taken.back().count);
                taken.pop_back();
            }
        }
    }
}

TEST(IovaRanges, TheIntersectionIsWhatIsInBoth) {
    std::minstd_rand random(1);
    constexpr Iova beyond = 64;
    // Every second border ends a range, so that no two overlap.
    const auto ranges = [&] {
        std::vector<IovaRange> made;
        for (Iova at = random() % 8; at < beyond;) {
            const Iova last = at + random() % 12;
            made.push_back({at, last});
            at = last + 1 + random() % 8;
        }
        return made;
    };
    const auto holds = [](const std::vector<IovaRange>& all, Iova at) {
        return std::ranges::any_of(
            all, [at](const IovaRange& range) { return range.first <= at && at <= range.last; });
    };
    for (int round = 0; round < 200; round++) {
        const auto one = ranges();
        const auto other = ranges();
        const auto both = intersection(one, other);
        for (Iova at = 0; at < 2 * beyond; at++)
            ASSERT_EQ(holds(both, at), holds(one, at) && holds(other, at)) << "round " << round << ", " << at;
    }
    EXPECT_TRUE(intersection({}, {{0, 5}}).empty());
    const auto all = intersection({{0, ~Iova{0}}}, {{3, 9}});
    EXPECT_EQ(all.at(0).last, 9U);
}

}  // namespace
}  // namespace pktpit::offload
