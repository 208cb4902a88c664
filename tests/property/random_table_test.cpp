// SPDX-License-Identifier: BSD-3-Clause
// Small tables full of overlaps, changed at random, against the oracle after every few steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fib/reader.h"
#include "tests/property/lpm_oracle.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::LpmOracle;
using test::TestImage;

/// Prefixes that nest deeply: addresses are drawn from a few, of which some bits are turned.
class Universe {
  public:
    Universe(Family family, uint32_t seed) : random_(seed) {
        for (IpAddress& stem : stems_) {
            stem.family = family;
            for (size_t byte = 0; byte < stem.size(); byte++)
                stem.bytes[byte] = static_cast<uint8_t>(random_());
        }
    }
    uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
    IpAddress address() {
        IpAddress address = stems_[below(std::size(stems_))];
        for (uint32_t turns = below(4); turns > 0; turns--) {
            const uint32_t bit = below(address.bits());
            address.bytes[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
        }
        return address;
    }
    Prefix prefix() {
        const IpAddress any = address();
        // The ends of the range and of the table's levels more often than the rest.
        static constexpr unsigned edges[] = {0, 1, 8, 15, 16, 17, 23, 24, 25, 31, 32};
        const unsigned length = below(3) == 0 ? edges[below(std::size(edges))] : below(any.bits() + 1);
        return Prefix::of(any, below(12) == 0 ? any.bits() : length);
    }

  private:
    std::mt19937 random_;
    IpAddress stems_[3];
};

struct Case {
    Family family;
    uint32_t seed;
    uint32_t node_bytes;
    uint32_t roots;
};

class RandomTable : public testing::TestWithParam<Case> {
  protected:
    RandomTable()
        : universe_(GetParam().family, GetParam().seed), image_(capacity()), oracle_(GetParam().family) {
        // Ids of one, two and four bytes.
        std::vector<GroupId> ids;
        for (int i = 0; i < 66'000; i++)
            ids.push_back(image_->add_group({}).value());
        for (size_t i = 0; i < std::size(groups_); i++)
            groups_[i] = ids[i % 4 == 2 ? 300 + i : i % 8 == 3 ? 65'600 + i : i];
    }
    static Capacity capacity() {
        return TestImage::small(
            {.groups = 70'000, .roots = GetParam().roots, .node_bytes = GetParam().node_bytes});
    }

    void check_address(const IpAddress& address) {
        const auto expected = oracle_.match(address);
        ASSERT_EQ(image_->lookup(address), expected ? expected->value : 0) << address.to_string();
        const auto match = image_->match(address);
        ASSERT_EQ(match.has_value(), expected.has_value());
        if (match) {
            ASSERT_EQ(match->first, Prefix::of(address, expected->length));
        }
    }
    /// All variants of the batch lookup on these addresses, in batches that end anywhere.
    void check_batches(const std::vector<IpAddress>& addresses) {
        std::vector<uint32_t> v4;
        std::vector<Ip6Bytes> v6;
        std::vector<GroupId> expected, found(addresses.size());
        for (const IpAddress& address : addresses) {
            const auto match = oracle_.match(address);
            expected.push_back(match ? match->value : 0);
            v4.push_back(address.v4_host_order());
            v6.push_back(address.bytes);
        }
        for (const CpuVariant variant : test::cpu_variants()) {
            const FibReader reader({image_.base(), image_.geometry().image_bytes}, variant);
            if (GetParam().family == Family::ipv4)
                reader.lookup_batch(v4, found);
            else
                reader.lookup_batch(v6, found);
            ASSERT_EQ(found, expected) << to_string(variant);
        }
    }

    void check_all() {
        const auto usage = image_->usage();
        ASSERT_EQ(usage.prefixes4 + usage.prefixes6, oracle_.size());
        for (const auto& [prefix, group] : oracle_.all()) {
            ASSERT_EQ(image_->find(prefix), group);
            check_address(prefix.address);
            check_address(prefix.last());
            check_address(oracle_.previous(prefix.address));
            check_address(oracle_.next(prefix.last()));
        }
        std::vector<IpAddress> addresses;
        for (const auto& [prefix, group] : oracle_.all())
            addresses.insert(addresses.end(), {prefix.address, prefix.last(), oracle_.next(prefix.last())});
        for (uint32_t i = 0; i < 200 + universe_.below(64); i++)
            addresses.push_back(universe_.address());
        for (const IpAddress& address : addresses)
            check_address(address);
        check_batches(addresses);
        if (universe_.below(2) == 0)
            while (!image_->compact(1 + universe_.below(100))) {
            }
        check_batches(addresses);
    }
    void set(const Prefix& prefix) {
        const GroupId group = groups_[universe_.below(std::size(groups_))];
        if (image_->set(prefix, group)) {
            oracle_.set(prefix, group);
            return;
        }
        refused_++;
        check_address(prefix.address);
        check_address(prefix.last());
        ASSERT_EQ(image_->find(prefix), oracle_.find(prefix));
    }
    void erase(const Prefix& prefix) {
        const auto erased = image_->erase(prefix);
        if (!erased) {
            refused_++;
            check_address(prefix.address);
            return;
        }
        ASSERT_EQ(*erased, oracle_.erase(prefix));
    }
    Prefix present() {
        auto all = oracle_.all();
        std::ranges::sort(all);
        return all[universe_.below(all.size())].first;
    }

    Universe universe_;
    TestImage image_;
    LpmOracle oracle_;
    GroupId groups_[20];
    size_t refused_ = 0;
};

TEST_P(RandomTable, AgreesThroughAllChanges) {
    for (int step = 0; step < 4000; step++) {
        // It grows and shrinks in waves, so that both a crowded and a nearly empty table are seen.
        const bool growing = step / 500 % 2 == 0;
        const uint32_t draw = universe_.below(10);
        if (oracle_.size() == 0 || draw < (growing ? 6u : 2u))
            set(universe_.prefix());
        else if (draw < (growing ? 7u : 3u))
            set(present());
        else if (draw == 9)
            erase(universe_.prefix());
        else
            erase(present());
        if (HasFatalFailure()) return;
        if (step % 100 == 0) check_all();
        if (HasFatalFailure()) return;
    }
    std::vector<std::pair<Prefix, uint32_t>> all = oracle_.all();
    std::ranges::sort(all);
    for (size_t i = all.size(); i > 0; i--) {
        std::swap(all[i - 1], all[universe_.below(i)]);
        erase(all[i - 1].first);
        if (i % 50 == 0) check_all();
        if (HasFatalFailure()) return;
    }
    const auto usage = image_->usage();
    EXPECT_EQ(usage.prefixes4 + usage.prefixes6, 0u);
    EXPECT_EQ(usage.node_bytes4 + usage.node_bytes6, GetParam().roots * uint64_t{PP_FIB_ROOT_BYTES});
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(image_->lookup(universe_.address()), 0u);
    // Small tables must have been full at times, large ones never.
    EXPECT_EQ(refused_ > 0, GetParam().node_bytes <= 64u << 10) << refused_;
}

std::vector<Case> cases() {
    std::vector<Case> result;
    for (uint32_t seed = 1; seed <= pktpit::test::rounds_of(6U); seed++)
        for (const Family family : {Family::ipv4, Family::ipv6})
            for (const auto& [kib, roots] : {std::pair{16u, 0u}, {64u, 0u}, {8192u, 0u}, {8192u, 2u}})
                result.push_back({family, seed, kib << 10, roots});
    return result;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTable, testing::ValuesIn(cases()), [](const auto& test) {
    return std::string(test.param.family == Family::ipv4 ? "Ipv4" : "Ipv6") +
           std::to_string(test.param.node_bytes >> 10) + "KiB" + std::to_string(test.param.roots) +
           "RootsSeed" + std::to_string(test.param.seed);
});

}  // namespace
}  // namespace pktpit::fib
