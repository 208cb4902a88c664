// SPDX-License-Identifier: BSD-3-Clause
// One image, read by eBPF and by every variant of FibReader: all say what the oracle says.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/differential/loaded_fib_lookup.h"
#include "tests/property/internet_table.h"
#include "tests/property/lpm_oracle.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/cpu_variants.h"

namespace pktpit::test {
namespace {

using fib::Capacity;
using fib::CpuVariant;
using fib::FibImage;
using fib::FibReader;
using fib::GroupId;
using fib::Ip6Bytes;
using fib::TableId;

/// Addresses of one family with what a lookup must say.
struct Questions {
    std::vector<uint32_t> v4;
    std::vector<Ip6Bytes> v6;
    std::vector<GroupId> expected;

    void ask(const IpAddress& address, const LpmOracle& oracle) {
        if (address.is_v4())
            v4.push_back(address.v4_host_order());
        else
            v6.push_back(address.bytes);
        const auto match = oracle.match(address);
        expected.push_back(match ? match->value : 0);
    }
    /// A prefix's first, last and neighbouring addresses.
    void ask_edges(const Prefix& prefix, const LpmOracle& oracle) {
        for (const IpAddress& address :
             {prefix.address, prefix.last(), oracle.previous(prefix.address), oracle.next(prefix.last())})
            ask(address, oracle);
    }
};

class FibLookup : public testing::TestWithParam<Family> {
  protected:
    void SetUp() override {
        if (!LoadedFibLookup::permitted()) GTEST_SKIP() << "loading eBPF programs needs root";
    }

    template <class Lookup>
    void check(const Lookup& lookup, const Questions& questions, TableId table, const std::string& who) {
        std::vector<GroupId> found(questions.expected.size(), 0xdeadbeef);
        if (GetParam() == Family::ipv4)
            lookup.lookup_batch(questions.v4, found, table);
        else
            lookup.lookup_batch(questions.v6, found, table);
        for (size_t i = 0; i < found.size(); i++)
            ASSERT_EQ(found[i], questions.expected[i])
                << who << ", table " << table << ": "
                << (GetParam() == Family::ipv4 ? IpAddress::v4(questions.v4[i])
                                               : IpAddress::v6(questions.v6[i].data()))
                       .to_string();
    }
    void check_everywhere(const LoadedFibLookup& loaded, const Questions& questions, TableId table = 0) {
        check(loaded, questions, table, "eBPF");
        for (const CpuVariant variant : cpu_variants())
            check(FibReader(loaded.memory(), variant), questions, table, std::string(to_string(variant)));
    }

    IpAddress random_address() {
        IpAddress address;
        address.family = GetParam();
        for (size_t byte = 0; byte < address.size(); byte++)
            address.bytes[byte] = static_cast<uint8_t>(random_());
        return address;
    }
    IpAddress random_inside(const Prefix& prefix) {
        IpAddress address = random_address();
        for (unsigned bit = 0; bit < prefix.length; bit++) {
            const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
            address.bytes[bit / 8] = static_cast<uint8_t>((address.bytes[bit / 8] & ~mask) |
                                                          (prefix.address.bytes[bit / 8] & mask));
        }
        return address;
    }

    std::mt19937 random_{1};
};

TEST_P(FibLookup, InternetTableGivesOneAnswerEverywhere) {
    const pp_fib_geometry geometry = plan_geometry(Capacity{});
    const LoadedFibLookup loaded(geometry);
    FibImage image(loaded.memory(), geometry, [] {});
    std::vector<GroupId> groups = {0};
    const auto table = some_of_the_internet(GetParam());
    LpmOracle oracle(GetParam());
    for (const auto& [prefix, next_hop] : table) {
        while (groups.size() <= next_hop)
            groups.push_back(image.add_group({}).value());
        ASSERT_TRUE(image.set(prefix, groups[next_hop]));
        oracle.set(prefix, groups[next_hop]);
    }
    const size_t edges = pktpit::test::rounds_of(60'000U);  // times 4
    Questions questions;
    for (size_t i = 0; i < table.size(); i += std::max<size_t>(1, table.size() / edges))
        questions.ask_edges(table[i].prefix, oracle);
    for (int i = 0; i < pktpit::test::rounds_of(200'000); i++)
        questions.ask(random_inside(table[random_() % table.size()].prefix), oracle);
    for (int i = 0; i < pktpit::test::rounds_of(100'000); i++)
        questions.ask(random_address(), oracle);
    ASSERT_GE(questions.expected.size(), pktpit::test::rounds_of(500'000u));
    check_everywhere(loaded, questions);
}

// Deeply nested prefixes with ids of all widths, in tables with and without a root, through their changes.
TEST_P(FibLookup, RandomTablesGiveOneAnswerEverywhere) {
    constexpr TableId tables = 4;
    Capacity capacity;
    capacity.groups = 70'000;
    capacity.tables = tables;
    const pp_fib_geometry geometry = plan_geometry(capacity);
    const LoadedFibLookup loaded(geometry);
    for (int round = 0; round < 4; round++) {
        FibImage image(loaded.memory(), geometry, [] {});
        for (TableId table = 1; table < tables; table++)
            ASSERT_EQ(image.add_table(), table);
        std::vector<GroupId> ids;
        for (int i = 0; i < 66'000; i++)
            ids.push_back(image.add_group({}).value());
        // Ids of one, two and four bytes.
        const size_t firsts[] = {0, 300, 65'600};
        std::vector<LpmOracle> oracles(tables, LpmOracle(GetParam()));
        const IpAddress stems[] = {random_address(), random_address(), random_address()};
        std::vector<Prefix> prefixes;
        for (int step = 0; step < pktpit::test::rounds_of(4'000); step++) {
            IpAddress address = stems[random_() % 3];
            for (auto turns = random_() % 6; turns > 0; turns--) {
                const auto bit = random_() % address.bits();
                address.bytes[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
            }
            const Prefix prefix =
                Prefix::of(address, static_cast<unsigned>(random_() % (address.bits() + 1)));
            prefixes.push_back(prefix);
            const auto table = static_cast<TableId>(random_() % tables);
            // In the first round all ids are of one byte, in the second of at most two, then of any width.
            const size_t widths = std::min(round + 1, 3);
            const GroupId group = ids[firsts[random_() % widths] + random_() % 40];
            ASSERT_TRUE(image.set(prefix, group, table));
            oracles[table].set(prefix, group);
            if (step % 4 == 3) {
                const Prefix& gone = prefixes[random_() % prefixes.size()];
                ASSERT_EQ(image.erase(gone, table), oracles[table].erase(gone));
            }
            if (step % 1'000 != 999) continue;
            for (TableId each = 0; each < tables; each++) {
                ASSERT_GT(oracles[each].size(), 0u);
                Questions questions;
                for (const auto& [present, value] : oracles[each].all())
                    questions.ask_edges(present, oracles[each]);
                for (const Prefix& any : prefixes)
                    questions.ask(random_inside(any), oracles[each]);
                for (int i = 0; i < 100; i++)
                    questions.ask(random_address(), oracles[each]);
                check_everywhere(loaded, questions, each);
                if (HasFatalFailure()) return;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, FibLookup, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& test) { return test.param == Family::ipv4 ? "Ipv4" : "Ipv6"; });

}  // namespace
}  // namespace pktpit::test
