// SPDX-License-Identifier: BSD-3-Clause
// Compaction, step by step: memory comes back, no answer changes.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::TestImage;

/// With epochs and no reader: memory that was left is free at once.
struct Filled {
    explicit Filled(Family the_family, uint32_t roots)
        : family(the_family),
          geometry(plan_geometry(capacity(roots))),
          memory(static_cast<std::byte*>(std::aligned_alloc(64, geometry.image_bytes)), &std::free),
          image(std::make_unique<FibImage>(std::span(memory.get(), geometry.image_bytes), geometry, epochs)) {
        for (GroupId& group : groups)
            group = image->add_group({}).value();
    }
    static Capacity capacity(uint32_t roots) {
        return TestImage::small({.groups = 512, .adjacencies = 512, .roots = roots, .node_bytes = 16 << 20});
    }
    [[nodiscard]] Prefix net(uint32_t i) const {
        // Spread over many nodes of several sizes.
        IpAddress address = IpAddress::v4(0x20000000u | (i * 0x9e3779b1u & 0x0fffffff));
        address.family = family;
        if (family == Family::ipv6) address.bytes[5] = static_cast<uint8_t>(i);
        return Prefix::of(address, family == Family::ipv4 ? 18 + i % 15 : 30 + i % 19);
    }
    void fill(uint32_t count, TableId table = 0) {
        for (uint32_t i = 0; i < count; i++)
            ASSERT_TRUE(image->set(net(i), groups[i % std::size(groups)], table));
    }
    [[nodiscard]] std::vector<GroupId> answers(uint32_t count, TableId table = 0) {
        std::vector<GroupId> all;
        for (uint32_t i = 0; i < count; i++) {
            all.push_back(image->lookup(net(i).address, table));
            all.push_back(image->lookup(net(i).last(), table));
            IpAddress beside = net(i).last();
            beside.bytes[3] ^= 1;
            all.push_back(image->lookup(beside, table));
        }
        return all;
    }

    Family family;
    pp_fib_geometry geometry;
    Epochs epochs;
    std::unique_ptr<std::byte, decltype(&std::free)> memory;
    std::unique_ptr<FibImage> image;
    GroupId groups[300];  ///< ids of one and of two bytes
};

constexpr uint32_t many = 12'000;

TEST(FibCompact, GivesMemoryOfAThinnedOutTableBack) {
    for (const Family family : {Family::ipv4, Family::ipv6})
        for (const uint32_t roots : {0u, 2u}) {
            Filled table(family, roots);
            table.fill(many);
            const uint64_t full = table.image->usage().node_bytes_taken;
            for (uint32_t i = 0; i < many; i++)
                if (i % 16 != 0) {
                    ASSERT_TRUE(table.image->erase(table.net(i)));
                }
            const uint64_t thinned = table.image->usage().node_bytes_taken;
            const auto answers = table.answers(many);
            int steps = 0;
            // The second pass gives pages that the first emptied to nodes of other sizes.
            for (int pass = 0; pass < 2; pass++)
                while (!table.image->compact(50)) {
                    ASSERT_LT(++steps, 100'000);
                    if (steps % 10 == 0) {
                        ASSERT_EQ(table.answers(many), answers);
                    }
                }
            ASSERT_EQ(table.answers(many), answers);
            EXPECT_GE(steps, roots > 0 ? 10 : 1) << "a budget of 50 nodes, and there are more";
            const auto usage = table.image->usage();
            // Memory that waits for readers is theirs until somebody needs it: that asks for the grace
            // period.
            EXPECT_LT(usage.node_bytes_taken, thinned) << full << " bytes when full";
            EXPECT_GE(usage.node_bytes_taken, usage.node_bytes4 + usage.node_bytes6);
            for (uint32_t i = 0; i < many; i += 16)
                ASSERT_EQ(table.image->erase(table.net(i)).has_value(), true);
            EXPECT_EQ(table.image->usage().node_bytes4 + table.image->usage().node_bytes6,
                      uint64_t{roots} * PP_FIB_ROOT_BYTES);
        }
}

/// No page is left, and hardly one is more than sparsely used.
struct SparselyFull {
    SparselyFull() : image(capacity()), group(image.add_group()) {
        while (image->set(small(count), group))
            count++;
        // One in each 50 stays.
        for (uint32_t i = 0; i < count; i++)
            if (i % 50 != 0) image->erase(small(i)).value();
    }
    static Capacity capacity() { return TestImage::small({.roots = 0, .node_bytes = 256 << 10}); }
    static Prefix small(uint32_t i) { return Prefix::of(IpAddress::v4(0x0a000000u | i << 8), 28); }

    TestImage image;
    GroupId group;
    uint32_t count = 0;
};

// Pages that only a few small nodes held serve large ones.
TEST(FibCompact, MakesRoomForOtherSizes) {
    SparselyFull full;
    const auto large = [](uint32_t i) { return Prefix::of(IpAddress::v4(0x0b000000u | i << 8), 32); };
    ASSERT_FALSE(full.image->set(large(0), full.group));
    for (int pass = 0; pass < 2; pass++)
        while (!full.image->compact(1000)) {
        }
    EXPECT_TRUE(full.image->set(large(0), full.group));
    for (uint32_t i = 0; i < full.count; i++)
        ASSERT_EQ(full.image->lookup(SparselyFull::small(i).address), i % 50 == 0 ? full.group : 0u);
}

// What there is room for is not refused because a pass has begun.
TEST(FibCompact, KeepsRoomForUpdates) {
    SparselyFull full;
    full.image->compact(1);
    for (uint32_t i = 1; i < full.count; i += 100)
        ASSERT_TRUE(full.image->set(SparselyFull::small(i), full.group)) << i;
}

// Between steps of a pass anything may happen.
TEST(FibCompact, ChangesBetweenStepsAreKept) {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
        Filled table(family, 4);
        table.fill(many);
        std::mt19937 random(1);
        std::vector<GroupId> expected(many);
        for (uint32_t i = 0; i < many; i++)
            expected[i] = *table.image->find(table.net(i));
        for (int step = 0; step < 3000; step++) {
            table.image->compact(1 + random() % 64);
            const auto i = static_cast<uint32_t>(random() % many);
            if (random() % 3 == 0) {
                ASSERT_TRUE(table.image->erase(table.net(i)));
                expected[i] = 0;
            } else {
                expected[i] = table.groups[random() % std::size(table.groups)];
                ASSERT_TRUE(table.image->set(table.net(i), expected[i]));
            }
            for (const uint32_t other : {i, static_cast<uint32_t>(random() % many)})
                ASSERT_EQ(table.image->find(table.net(other)).value_or(0), expected[other]);
        }
        // The last of equal prefixes counts, and a prefix is its own longest match at no other place.
        for (uint32_t i = 0; i < many; i++) {
            const auto match = table.image->match(table.net(i).address);
            ASSERT_EQ(table.image->lookup(table.net(i).address), match ? match->second : 0u);
        }
    }
}

// The table that a pass is at goes away in the middle of it.
TEST(FibCompact, OutlivesATable) {
    Filled filled(Family::ipv4, 4);
    filled.fill(100);
    const TableId table = filled.image->add_table().value();
    filled.fill(many, table);  // with a root: a pass takes many steps
    const auto answers = filled.answers(100);
    for (int step = 0; step < 40; step++)
        ASSERT_FALSE(filled.image->compact(50)) << step;
    filled.image->remove_table(table);
    int steps = 0;
    while (!filled.image->compact(50))
        ASSERT_LT(++steps, 100'000) << "the pass never ends";
    EXPECT_EQ(filled.answers(100), answers);
}

}  // namespace
}  // namespace pktpit::fib
