// SPDX-License-Identifier: BSD-3-Clause
// The full Internet tables against the oracle: every prefix at its edges, and a million addresses anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/property/internet_table.h"
#include "tests/property/lpm_oracle.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::LpmOracle;
using test::TestImage;

constexpr uint32_t most_next_hops = 4096;

class FullTable : public testing::TestWithParam<Family> {
  protected:
    FullTable() : image_(Capacity{}), oracle_(GetParam()), table_(test::some_of_the_internet(GetParam())) {
        groups_.push_back(0);
        for (uint32_t i = 1; i < most_next_hops; i++)
            groups_.push_back(image_.add_group());
    }

    void load() {
        for (const auto& [prefix, next_hop] : table_) {
            const auto result = image_->set(prefix, groups_.at(next_hop));
            ASSERT_TRUE(result) << result.error().to_string();
        }
        EXPECT_EQ(image_.grace_periods(), 0u) << "nothing that readers have goes";
        for (const auto& [prefix, next_hop] : table_)
            oracle_.set(prefix, groups_.at(next_hop));
    }

    /// Lookup, group and matching prefix must all be the oracle's.
    void check(const IpAddress& address) {
        const auto expected = oracle_.match(address);
        ASSERT_EQ(image_->lookup(address), expected ? expected->value : 0) << address.to_string();
        const auto match = image_->match(address);
        ASSERT_EQ(match.has_value(), expected.has_value()) << address.to_string();
        if (match) {
            ASSERT_EQ(match->second, expected->value) << address.to_string();
            ASSERT_EQ(match->first, Prefix::of(address, expected->length)) << address.to_string();
        }
    }

    void check_edges(size_t step) {
        for (size_t i = 0; i < table_.size(); i += step) {
            const Prefix& prefix = table_[i].prefix;
            check(prefix.address);
            check(prefix.last());
            check(oracle_.previous(prefix.address));
            check(oracle_.next(prefix.last()));
            ASSERT_EQ(image_->find(prefix), oracle_.find(prefix));
        }
    }

    void check_random(size_t count) {
        for (size_t i = 0; i < count; i++) {
            IpAddress address;
            address.family = GetParam();
            for (size_t byte = 0; byte < address.size(); byte++)
                address.bytes[byte] = static_cast<uint8_t>(random_());
            // Nearly all of IPv6 is empty: every other address lies near a prefix instead.
            if (GetParam() == Family::ipv6 && i % 2) {
                const Prefix& prefix = table_[random_() % table_.size()].prefix;
                for (size_t byte = 0; byte < prefix.length / 8; byte++)
                    address.bytes[byte] = prefix.address.bytes[byte];
            }
            check(address);
        }
    }

    TestImage image_;
    LpmOracle oracle_;
    std::vector<TableEntry> table_;
    std::vector<GroupId> groups_;
    std::mt19937 random_{1};
};

TEST_P(FullTable, EveryPrefixAndAMillionAddresses) {
    load();
    const auto usage = image_->usage();
    EXPECT_EQ(usage.prefixes4 + usage.prefixes6, oracle_.size());
    EXPECT_LE(usage.node_bytes4, 8u << 20) << "with at most 254 groups";
    EXPECT_LE(usage.node_bytes6, 16u << 20);
    check_edges(1);
    check_random(pktpit::test::rounds_of(1'000'000U));
}

// Half of it goes, in random order, half of the rest gets another group; then all goes, and nothing is left.
TEST_P(FullTable, ShrinksToNothing) {
    load();
    std::shuffle(table_.begin(), table_.end(), random_);
    for (size_t i = 0; i < table_.size() / 2; i++) {
        ASSERT_EQ(image_->erase(table_[i].prefix), true);
        ASSERT_TRUE(oracle_.erase(table_[i].prefix));
    }
    for (size_t i = table_.size() / 2; i < table_.size(); i += 2) {
        const GroupId group = groups_[1 + random_() % (groups_.size() - 1)];
        ASSERT_TRUE(image_->set(table_[i].prefix, group));
        oracle_.set(table_[i].prefix, group);
    }
    check_edges(5);
    check_random(100'000);
    for (size_t i = table_.size() / 2; i < table_.size(); i++)
        ASSERT_EQ(image_->erase(table_[i].prefix), true);
    const auto usage = image_->usage();
    EXPECT_EQ(usage.prefixes4 + usage.prefixes6, 0u);
    EXPECT_EQ(usage.node_bytes4 + usage.node_bytes6, 2u * PP_FIB_ROOT_BYTES);
    for (const auto& [prefix, next_hop] : table_)
        ASSERT_EQ(image_->lookup(prefix.address), 0u);
}

INSTANTIATE_TEST_SUITE_P(Internet, FullTable, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& test) { return test.param == Family::ipv4 ? "Ipv4" : "Ipv6"; });

}  // namespace
}  // namespace pktpit::fib
