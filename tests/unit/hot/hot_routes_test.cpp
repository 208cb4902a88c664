// SPDX-License-Identifier: BSD-3-Clause
// Random tables, random busy addresses, random changes of routes: after each step every address that the
// port's table knows has there what a naive longest-prefix match says.
#include "router/hot/hot_routes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/property/lpm_oracle.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::router {
namespace {

using test::LpmOracle;
using test::TestImage;

struct Case {
    Family family;
    uint32_t seed;
    uint32_t node_bytes;
    size_t budget;
};

class RandomHotRoutes : public testing::TestWithParam<Case> {
  protected:
    RandomHotRoutes()
        : random_(GetParam().seed),
          image_(capacity()),
          table_(image_->add_table().value()),
          oracle_(GetParam().family),
          hot_(*image_, table_) {
        for (auto& group : groups_)
            group = image_.add_group();
        hot_.set_budget(GetParam().budget);
        for (IpAddress& stem : stems_) {
            stem.family = GetParam().family;
            for (size_t byte = 0; byte < stem.size(); byte++)
                stem.bytes[byte] = static_cast<uint8_t>(random_());
        }
    }
    static fib::Capacity capacity() {
        fib::Capacity capacity = TestImage::small();
        capacity.groups = 1024;
        capacity.adjacencies = 1024;
        capacity.node_bytes = GetParam().node_bytes;
        return capacity;
    }

    uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
    IpAddress address() {
        IpAddress address = stems_[below(std::size(stems_))];
        for (uint32_t turns = below(5); turns > 0; turns--) {
            const uint32_t bit = below(3) == 0 ? below(address.bits()) : address.bits() / 4 + below(16);
            address.bytes[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
        }
        return address;
    }
    Prefix prefix() {
        const IpAddress any = address();
        const unsigned length = below(4) == 0 ? below(any.bits() + 1) : any.bits() / 4 + below(17);
        return Prefix::of(any, below(20) == 0 ? any.bits() : length);
    }

    // As router/routing does it: the hot table first, then the full one.
    void change_route() {
        const Prefix changed = prefix();
        const bool remove = below(3) == 0;
        // Few groups, so that neighbours share theirs.
        const fib::GroupId group = groups_[below(std::size(groups_))];
        ASSERT_TRUE(hot_.before_change(changed));
        check_near(changed);  // nothing wrong between the two steps either
        if (remove) {
            if (image_->erase(changed)) oracle_.erase(changed);
        } else if (image_->set(changed, group)) {
            oracle_.set(changed, group);
        }
        check_near(changed);
    }
    void check(const IpAddress& address) {
        const fib::GroupId here = image_->lookup(address, table_);
        if (here == 0) return;
        const auto expected = oracle_.match(address);
        ASSERT_TRUE(expected) << address.to_string();
        ASSERT_EQ(here, expected->value) << address.to_string();
    }
    void check_near(const Prefix& prefix) {
        for (const IpAddress& edge : {prefix.address, prefix.last()})
            for (const IpAddress& near : {edge, oracle_.next(edge), oracle_.previous(edge)})
                check(near);
    }
    void check_all() {
        for (const auto& [prefix, group] : oracle_.all())
            check_near(prefix);
        size_t blocks = 0;
        hot_.for_each([&](const Prefix& block, HotBlock& state) {
            check_near(block);
            ASSERT_EQ(image_->find(block, table_), state.group);
            ASSERT_EQ(hot_.covering(block.address), &state);
            blocks++;
        });
        ASSERT_EQ(blocks, hot_.size());
        ASSERT_LE(blocks, hot_.budget());
        ASSERT_EQ(image_->prefix_count(GetParam().family, table_), blocks);
    }

    std::mt19937 random_;
    TestImage image_;
    fib::TableId table_;
    LpmOracle oracle_;
    HotRoutes hot_;
    IpAddress stems_[3];
    fib::GroupId groups_[4] = {};
};

TEST_P(RandomHotRoutes, AgreesWithFullTable) {
    size_t installed = 0;
    for (int step = 0; step < 9000; step++) {
        switch (below(8)) {
            case 0:
            case 1:
                change_route();
                break;
            case 2:
                if (below(10) == 0) hot_.clear();
                break;
            default: {
                const IpAddress busy = address();
                if (hot_.full() && hot_.size() != 0) {
                    std::vector<Prefix> all;
                    hot_.for_each([&](const Prefix& block, HotBlock&) { all.push_back(block); });
                    ASSERT_TRUE(hot_.evict(all[below(all.size())]));
                }
                if (const HotBlock* block = hot_.install(busy)) {
                    installed++;
                    ASSERT_EQ(image_->lookup(busy, table_), block->group);
                }
                check(busy);
                if (hot_.holds_all()) {
                    ASSERT_EQ(image_->lookup(busy, table_), image_->lookup(busy));
                }
            }
        }
        // Now and then the whole table is held for a while, blocks or not.
        if (step % 1000 == 970) hot_.hold_all(true);
        if (step % 1000 == 999) hot_.hold_all(false);
        if (HasFatalFailure()) return;
        if (step % 50 == 0) check_all();
        if (HasFatalFailure()) return;
    }
    check_all();
    EXPECT_GT(installed, 200U);  // fewest where memory is short
    EXPECT_GT(hot_.counts().invalidated, 100U);
}

INSTANTIATE_TEST_SUITE_P(
    Hot, RandomHotRoutes,
    testing::Values(Case{Family::ipv4, 1, 1 << 20, 400}, Case{Family::ipv4, 2, 1 << 20, 24},
                    Case{Family::ipv4, 3, 48 << 10, 400}, Case{Family::ipv6, 4, 4 << 20, 400},
                    Case{Family::ipv6, 5, 4 << 20, 24}, Case{Family::ipv6, 6, 1 << 20, 400}));

// What the property test checks by address, once by block: no address of a block has another group.
TEST(HotRoutes, BlockIsTheLargestUniformOne) {
    TestImage image;
    const auto table = image->add_table().value();
    const fib::GroupId a = image.add_group(), b = image.add_group();
    HotRoutes hot(*image, table);
    hot.set_budget(8);
    for (const char* text : {"10.1.0.0/16", "10.2.0.0/17", "10.2.128.0/17"})
        ASSERT_TRUE(image->set(test::prefix(text), a));
    ASSERT_TRUE(image->set(test::prefix("10.1.7.0/24"), b));
    ASSERT_TRUE(image->set(test::prefix("10.2.1.0/24"), a));
    ASSERT_NE(hot.install(test::address("10.2.1.1")), nullptr);
    ASSERT_NE(hot.install(test::address("10.1.0.1")), nullptr);
    ASSERT_NE(hot.install(test::address("10.1.7.1")), nullptr);
    EXPECT_EQ(hot.install(test::address("10.3.0.1")), nullptr);  // no route
    std::set<std::string> blocks;
    hot.for_each([&](const Prefix& block, HotBlock&) { blocks.insert(block.to_string()); });
    EXPECT_EQ(blocks, (std::set<std::string>{"10.2.0.0/16", "10.1.0.0/22", "10.1.7.0/24"}));
    // A new route inside leaves what it does not touch; an equal covering one touches nothing.
    ASSERT_TRUE(hot.before_change(test::prefix("10.2.128.0/18")));
    ASSERT_TRUE(hot.before_change(test::prefix("10.0.0.0/8")));
    blocks.clear();
    hot.for_each([&](const Prefix& block, HotBlock&) { blocks.insert(block.to_string()); });
    EXPECT_EQ(blocks, (std::set<std::string>{"10.2.0.0/17", "10.2.192.0/18", "10.1.0.0/22", "10.1.7.0/24"}));
}

TEST(HotRoutes, the_whole_table_is_held_without_blocks_and_follows_it) {
    TestImage image;
    const auto table = image->add_table().value();
    const fib::GroupId a = image.add_group(), b = image.add_group();
    HotRoutes hot(*image, table);
    hot.set_budget(8);
    ASSERT_TRUE(image->set(test::prefix("10.1.0.0/16"), a));
    ASSERT_NE(hot.install(test::address("10.1.0.1")), nullptr);
    hot.hold_all(true);
    EXPECT_EQ(hot.size(), 0U);
    EXPECT_EQ(hot.prefixes(), 1U);
    EXPECT_EQ(hot.install(test::address("10.1.0.1")), nullptr) << "a block beside the whole table";
    ASSERT_TRUE(hot.before_change(test::prefix("10.1.7.0/24")));
    ASSERT_TRUE(image->set(test::prefix("10.1.7.0/24"), b));
    EXPECT_EQ(image->lookup(test::address("10.1.7.1"), table), b);
    hot.hold_all(false);
    EXPECT_EQ(image->lookup(test::address("10.1.7.1"), table), 0U);
    EXPECT_NE(hot.install(test::address("10.1.7.1")), nullptr);
}

}  // namespace
}  // namespace pktpit::router
