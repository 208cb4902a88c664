// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/slot_shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace pktpit::router {
namespace {

constexpr uint32_t slots = 16384;
constexpr uint32_t entries = 1024;

/// A worker's rings. Slots that are in no ring are free, but for those that are on their way out.
class Rings {
  public:
    void come(size_t more = 1) {
        for (size_t i = 0; i < more; i++) {
            filled_.push_back(0);
            shares_.divide_among(static_cast<uint32_t>(filled_.size()));
            give(filled_.size() - 1, false);
        }
    }
    void look() {
        for (size_t i = 0; i < filled_.size(); i++)
            give(i, true);
    }
    /// Batches of 64 come in by one and stay on their way for as long as `transmit` more follow.
    void receive(size_t ring, uint32_t batches, uint32_t transmit) {
        std::vector<uint32_t> under_way;
        for (uint32_t i = 0; i < batches; i++) {
            const uint32_t frames = std::min(64U, filled_[ring]);
            lost_ += 64 - frames;
            filled_[ring] -= frames;
            out_ += frames;
            under_way.push_back(frames);
            if (under_way.size() > transmit) out_ -= under_way[under_way.size() - 1 - transmit];
            give(ring, true);
        }
        out_ = 0;
        give(ring, true);
    }
    [[nodiscard]] uint32_t of(size_t ring) const { return filled_[ring]; }
    [[nodiscard]] uint32_t receiving() const { return std::accumulate(filled_.begin(), filled_.end(), 0U); }
    [[nodiscard]] uint32_t free() const { return slots - receiving() - out_; }
    [[nodiscard]] uint32_t lost() const { return lost_; }

  private:
    void give(size_t ring, bool busy) {
        const uint32_t wanted =
            busy ? shares_.of_ring(receiving(), free()) : shares_.of_idle_ring(receiving(), free());
        if (filled_[ring] < wanted) filled_[ring] += std::min(wanted - filled_[ring], free());
    }

    SlotShares shares_{slots, entries};
    std::vector<uint32_t> filled_;
    uint32_t out_ = 0;
    uint32_t lost_ = 0;
};

TEST(SlotShares, FewRingsAreFull) {
    for (size_t count = 1; count <= 12; count++) {
        Rings rings;
        rings.come(count);
        rings.look();
        for (size_t i = 0; i < count; i++)
            EXPECT_EQ(rings.of(i), entries) << count << " rings";
        EXPECT_GE(rings.free(), slots / 4);
    }
}

TEST(SlotShares, ManyRingsHaveTheSameAndLeaveAQuarter) {
    for (const size_t count : {13, 16, 17, 18, 32, 48}) {
        Rings rings;
        rings.come(count);
        rings.look();
        for (size_t i = 0; i < count; i++)
            EXPECT_EQ(rings.of(i), slots / 4 * 3 / count) << count << " rings";
        EXPECT_GE(rings.free(), slots / 4) << count << " rings";
    }
}

// Whichever is busy, and however many there are: nothing is lost for want of slots while less is on its way
// than a transmit ring holds.
TEST(SlotShares, NoBusyRingStarves) {
    for (const size_t count : {2, 12, 16, 17, 18, 24, 48})
        for (const size_t busy : {size_t{0}, count / 2, count - 1}) {
            Rings rings;
            rings.come(count);
            rings.look();
            rings.receive(busy, 200, entries / 64);
            EXPECT_EQ(rings.lost(), 0u) << "ring " << busy << " of " << count;
        }
}

TEST(SlotShares, RingsThatComeLaterGetSomeAtOnceAndTheirShareWithTraffic) {
    Rings rings;
    rings.come(12);
    rings.look();
    rings.come(12);
    rings.look();
    for (size_t i = 12; i < 24; i++)
        EXPECT_GE(rings.of(i), 64u) << "ring " << i;
    rings.receive(23, 100, 1);
    EXPECT_EQ(rings.lost(), 0u);
    for (size_t i = 0; i < 24; i++)
        rings.receive(i, 16, 1);
    rings.look();
    for (size_t i = 0; i < 24; i++)
        EXPECT_EQ(rings.of(i), slots / 4 * 3 / 24) << "ring " << i;
}

TEST(SlotShares, OneHundredAtOnce) {
    Rings rings;
    rings.come(100);
    rings.look();
    for (size_t i = 0; i < 100; i++)
        EXPECT_GE(rings.of(i), 16u) << "ring " << i;
}

}  // namespace
}  // namespace pktpit::router
