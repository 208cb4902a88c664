// SPDX-License-Identifier: BSD-3-Clause
// Large tables in batches of every variant: ten million addresses of the real tables, random tables of
// 400,000 prefixes through random updates, and the tables that update traces end in.
#include <gtest/gtest.h>

#include <charconv>
#include <random>
#include <unordered_map>

#include "fib/reader.h"
#include "fib/tables/data_folder.h"
#include "fib/tables/update_reader.h"
#include "tests/property/internet_table.h"
#include "tests/property/interval_oracle.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::IntervalOracle;
using test::TestImage;

constexpr size_t batch = 1024;

class LargeTable : public testing::TestWithParam<Family> {
  protected:
    LargeTable() : image_(capacity()) { groups_.push_back(0); }
    static Capacity capacity() {
        Capacity capacity;
        capacity.node_bytes = 128u << 20;  // random tables are not shaped like real ones
        capacity.groups = 70'000;
        return capacity;
    }
    GroupId group(uint32_t next_hop) {
        while (groups_.size() <= next_hop)
            groups_.push_back(image_->add_group({}).value());
        return groups_[next_hop];
    }
    void set(const Prefix& prefix, GroupId group) {
        const auto result = image_->set(prefix, group);
        ASSERT_TRUE(result) << result.error().to_string();
        routes_[prefix] = group;
    }
    void erase(const Prefix& prefix) { ASSERT_EQ(image_->erase(prefix), routes_.erase(prefix) == 1); }

    [[nodiscard]] IntervalOracle oracle() const { return {GetParam(), {routes_.begin(), routes_.end()}}; }
    IntervalOracle::Number random_number() {
        const IntervalOracle::Number high = random_();
        return GetParam() == Family::ipv4 ? high >> 32 : high << 64 | random_();
    }
    /// Anywhere, or beside a place where the answer changes.
    IpAddress random_address(const IntervalOracle& oracle) {
        if (random_() % 2) return oracle.address(random_number());
        const auto& firsts = oracle.firsts();
        const auto near = firsts[random_() % firsts.size()];
        return oracle.address(random_() % 2 ? near : near - 1);
    }
    /// Addresses from `next()`, answered by each variant.
    template <class Next>
    void check(const IntervalOracle& oracle, size_t count, Next next) {
        std::vector<uint32_t> v4(batch);
        std::vector<Ip6Bytes> v6(batch);
        std::vector<GroupId> expected(batch), found(batch);
        std::vector<FibReader> readers;
        for (const CpuVariant variant : {CpuVariant::scalar, CpuVariant::avx2, CpuVariant::avx512})
            if (cpu_has(variant)) readers.emplace_back(image_->memory(), variant);
        for (size_t done = 0; done < count; done += batch) {
            for (size_t i = 0; i < batch; i++) {
                const IpAddress address = next();
                expected[i] = oracle.lookup(address);
                v4[i] = address.v4_host_order();
                v6[i] = address.bytes;
            }
            for (const FibReader& reader : readers) {
                if (GetParam() == Family::ipv4)
                    reader.lookup_batch(v4, found);
                else
                    reader.lookup_batch(v6, found);
                if (found == expected) continue;
                for (size_t i = 0; i < batch; i++)
                    ASSERT_EQ(found[i], expected[i])
                        << to_string(reader.variant()) << " "
                        << (GetParam() == Family::ipv4 ? IpAddress::v4(v4[i]) : IpAddress::v6(v6[i].data()))
                               .to_string();
            }
        }
    }
    void check_random(size_t count) {
        const IntervalOracle now = oracle();
        check(now, count, [&] { return random_address(now); });
    }
    void check_every_edge() {
        const IntervalOracle now = oracle();
        size_t at = 0;
        check(now, 2 * now.firsts().size(), [&] {
            const auto first = now.firsts()[at / 2 % now.firsts().size()];
            return now.address(at++ % 2 ? first : first - 1);
        });
    }
    Prefix random_prefix() {
        IpAddress address;
        address.family = GetParam();
        for (size_t byte = 0; byte < address.size(); byte++)
            address.bytes[byte] = static_cast<uint8_t>(random_());
        // As Internet tables are: few stems, most of the lengths in a narrow range; and some of any length.
        if (GetParam() == Family::ipv6) {
            address.bytes[0] = 0x20;
            address.bytes[1] &= 0x0f;
        }
        const unsigned common = GetParam() == Family::ipv4 ? 18 : 32;
        const unsigned least = GetParam() == Family::ipv4 ? 8 : 20;
        const unsigned any = least + static_cast<unsigned>(random_() % (address.bits() - least + 1));
        // A long IPv6 prefix on its own takes a node of 1 KiB for each 8 bits.
        const unsigned few = GetParam() == Family::ipv4 ? 16 : 512;
        return Prefix::of(address, random_() % few ? common + static_cast<unsigned>(random_() % 9) : any);
    }

    TestImage image_;
    std::vector<GroupId> groups_;
    std::unordered_map<Prefix, GroupId> routes_;
    std::mt19937_64 random_{1};
};

TEST_P(LargeTable, TenMillionAddressesOfTheInternet) {
    for (const auto& [prefix, next_hop] : test::some_of_the_internet(GetParam()))
        set(prefix, group(next_hop));
    if (HasFatalFailure()) return;
    check_every_edge();
    check_random(pktpit::test::rounds_of(10'000'000U));
}

TEST_P(LargeTable, FourHundredThousandRandomPrefixes) {
    const size_t count = pktpit::test::rounds_of(400'000U), updates = count;
    const auto any_group = [&] {
        // Of one, two and four bytes.
        const uint32_t draw = static_cast<uint32_t>(random_() % 1'000);
        return group(draw == 0    ? static_cast<uint32_t>(65'600 + random_() % 40)
                     : draw < 300 ? 256 + draw
                                  : 1 + draw % 200);
    };
    group(66'000);
    std::vector<Prefix> prefixes;
    while (routes_.size() < count) {
        prefixes.push_back(random_prefix());
        set(prefixes.back(), any_group());
        if (HasFatalFailure()) return;
    }
    check_every_edge();
    for (size_t done = 0; done < updates; done++) {
        Prefix& prefix = prefixes[random_() % prefixes.size()];
        if (random_() % 2) {
            set(prefix, any_group());  // anew, again, or with another group
        } else {
            erase(prefix);
            if (random_() % 2) prefix = random_prefix();
        }
        if (random_() % 2'048 == 0) image_->compact(64);
        if (HasFatalFailure()) return;
        if (done % (updates / 4) == 0) check_random(updates);
    }
    check_every_edge();
    for (const auto& [prefix, group] : routes_)
        ASSERT_EQ(image_->find(prefix), group);
    EXPECT_EQ(image_->prefix_count(GetParam()), routes_.size());
}

// A trace over the real table: each announcement is a set, each withdrawal an erase, and now and then many of
// them are one batch.
TEST_P(LargeTable, UpdateTracesEndInTheOraclesTable) {
    const auto path = data_file(GetParam() == Family::ipv4 ? "bgp-updates-ipv4-2016-08.txt.xz"
                                                           : "bgp-updates-ipv6-2016-08.txt.xz");
    if (!path) GTEST_SKIP() << "a recorded update trace is read where PKTPIT_DATA names its folder";
    for (const auto& [prefix, next_hop] : test::some_of_the_internet(GetParam()))
        set(prefix, group(next_hop));
    std::vector<RouteChange> together;
    size_t announced = 0, withdrawn = 0;
    const auto read = read_updates(*path, {}, [&](const Update& update, size_t) -> Result<void> {
        uint32_t next_hop = 0;
        if (!update.withdraw)
            std::from_chars(update.next_hop.data(), update.next_hop.data() + update.next_hop.size(),
                            next_hop);
        if (update.withdraw != (next_hop == 0)) return fail({}, "next-hop id is no number");
        (update.withdraw ? withdrawn : announced)++;
        const std::optional<GroupId> to = update.withdraw ? std::nullopt : std::optional(group(next_hop));
        if ((announced + withdrawn) / 1'000 % 2) {
            together.push_back({update.prefix, to});
            if (to)
                routes_[update.prefix] = *to;
            else
                routes_.erase(update.prefix);
            if (together.size() < 200) return {};
            const auto result = image_->apply(together);
            together.clear();
            return result;
        }
        if (auto result = image_->apply(together); !result) return result;
        together.clear();
        if (to)
            set(update.prefix, *to);
        else
            erase(update.prefix);
        return {};
    });
    ASSERT_TRUE(read) << read.error().to_string();
    ASSERT_TRUE(image_->apply(together));
    EXPECT_GT(announced, 1'000u);
    EXPECT_GT(withdrawn, 100u);
    std::printf("%zu announcements, %zu withdrawals\n", announced, withdrawn);
    EXPECT_EQ(image_->prefix_count(GetParam()), routes_.size());
    for (const auto& [prefix, group] : routes_)
        ASSERT_EQ(image_->find(prefix), group) << prefix.to_string();
    check_every_edge();
}

INSTANTIATE_TEST_SUITE_P(Families, LargeTable, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& test) { return test.param == Family::ipv4 ? "Ipv4" : "Ipv6"; });

}  // namespace
}  // namespace pktpit::fib
