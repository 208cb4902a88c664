// SPDX-License-Identifier: BSD-3-Clause
// A table that answers as another one does, whatever happens to that, with readers that hold on to what they
// have begun with.
#include <gtest/gtest.h>

#include <random>

#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;
using test::TestImage;

class MirrorTest : public testing::TestWithParam<uint32_t> {
  protected:
    MirrorTest() {
        for (GroupId& group : groups_)
            group = image_.add_group();
    }
    static Capacity capacity() { return TestImage::small({.roots = 6, .node_bytes = 8 << 20}); }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }
    /// Of few nets, so that prefixes are changed and removed, too.
    Prefix draw() {
        if (below(2)) return Prefix::of(IpAddress::v4(0x0a000000u | below(1 << 14) << 8), 8 + below(25));
        const uint8_t bytes[16] = {
            0x20, 1, 0, 0, static_cast<uint8_t>(below(64)), static_cast<uint8_t>(below(256))};
        return Prefix::of(IpAddress::v6(bytes), 16 + below(49));
    }
    GroupId group() { return groups_[below(static_cast<uint32_t>(std::size(groups_)))]; }
    /// Everything that readers could be told of is the same in both.
    void expect_same() {
        const auto* tables =
            reinterpret_cast<const pp_fib_table*>(image_.base() + image_.geometry().table_offset);
        ASSERT_EQ(tables[mirror_].entry4, tables[of_].entry4);
        ASSERT_EQ(tables[mirror_].entry6, tables[of_].entry6);
        const IpAddress any = draw().address;
        ASSERT_EQ(image_->lookup(any, mirror_), image_->lookup(any, of_));
    }

    std::mt19937 random_{GetParam()};
    TestImage image_{capacity(), [this] {
                         // Memory is about to be used again: nobody may still be sent there.
                         if (mirrored_) expect_same();
                     }};
    GroupId groups_[40];
    TableId mirror_ = image_->add_table().value();
    /// The default table has roots from the beginning; another one gets them when it has grown.
    TableId of_ = GetParam() % 2 ? TableId{PP_FIB_DEFAULT_TABLE} : image_->add_table().value();
    bool mirrored_ = false;
};

TEST_P(MirrorTest, answers_as_the_other_after_each_change) {
    image_->mirror(mirror_, of_);
    mirrored_ = true;
    for (int step = 0; step < pktpit::test::rounds_of(20'000); step++) {
        const uint32_t what = below(100);
        if (what < 60) {
            ASSERT_TRUE(image_->set(draw(), group(), of_));
        } else if (what < 95) {
            ASSERT_TRUE(image_->erase(draw(), of_));
        } else if (what < 98) {
            std::vector<RouteChange> changes;
            for (uint32_t i = below(40); i > 0; i--)
                changes.push_back({draw(), below(3) ? std::optional(group()) : std::nullopt});
            ASSERT_TRUE(image_->apply(changes, of_));
        } else {
            image_->compact(64);
        }
        expect_same();
        if (HasFatalFailure()) return;
    }
    while (!image_->compact(1000))
        expect_same();
    EXPECT_EQ(image_->prefix_count(Family::ipv4, mirror_), 0U) << "it has prefixes of its own";
}

TEST_P(MirrorTest, is_the_empty_table_again_when_it_ends) {
    for (int i = 0; i < 5000; i++)
        ASSERT_TRUE(image_->set(draw(), group(), of_));
    image_->mirror(mirror_, of_);
    expect_same();
    image_->mirror(mirror_, std::nullopt);
    for (int i = 0; i < 1000; i++) {
        EXPECT_EQ(image_->lookup(draw().address, mirror_), 0U);
        ASSERT_TRUE(image_->set(draw(), group(), of_));
    }
    ASSERT_TRUE(image_->set(prefix("192.0.2.0/24"), groups_[0], mirror_));
    EXPECT_EQ(image_->lookup(address("192.0.2.1"), mirror_), groups_[0]);
    EXPECT_EQ(image_->lookup(address("192.0.2.1")), 0U);
    image_->remove_table(mirror_);
}

TEST_P(MirrorTest, what_was_refused_is_not_seen_there_either) {
    image_->mirror(mirror_, of_);
    mirrored_ = true;
    bool refused = false;
    for (uint32_t i = 0; i < 200'000 && !refused; i++) {
        refused =
            !image_->set(Prefix::of(IpAddress::v4(0x0a000000u + i * 4096 + i % 16 * 16), 28), group(), of_);
        if (i % 100 == 0) expect_same();
    }
    EXPECT_TRUE(refused);
    expect_same();
}

INSTANTIATE_TEST_SUITE_P(Fib, MirrorTest, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace pktpit::fib
