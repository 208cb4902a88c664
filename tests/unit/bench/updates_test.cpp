// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/updates.h"

#include <gtest/gtest.h>

#include <map>

#include "bench/harness/failure.h"
#include "tests/unit/bench/tables.h"

namespace pktpit::bench::fib {
namespace {

std::map<Prefix, uint32_t> as_map(const Table& table) {
    std::map<Prefix, uint32_t> map;
    for (const Route& route : table.routes)
        map[route.prefix] = route.group;
    return map;
}

std::map<Prefix, uint32_t> applied(std::map<Prefix, uint32_t> map, const std::vector<Update>& updates) {
    for (const Update& update : updates) {
        if (update.group == 0)
            map.erase(update.prefix);
        else
            map[update.prefix] = update.group;
    }
    return map;
}

TEST(Updates, RandomOnesChangeSomethingEachTime) {
    const Table table = generate_internet(Family::ipv4, 1000);
    const auto sequence = random_updates(table, 5000, 1);
    ASSERT_EQ(sequence.updates.size(), 5000u);
    auto map = as_map(table);
    size_t withdrawn = 0, replaced = 0, announced = 0;
    for (const Update& update : sequence.updates) {
        const auto found = map.find(update.prefix);
        if (update.group == 0) {
            ASSERT_NE(found, map.end());
            withdrawn++;
        } else if (found == map.end()) {
            announced++;
        } else {
            ASSERT_NE(found->second, update.group);
            replaced++;
        }
        ASSERT_LE(update.group, table.groups);
        map = applied(std::move(map), {update});
    }
    EXPECT_GT(withdrawn, 1000u);
    EXPECT_GT(replaced, 1000u);
    EXPECT_GT(announced, 1000u);
}

TEST(Updates, AreTheSameEachTime) {
    const Table table = generate_internet(Family::ipv6, 500);
    EXPECT_EQ(random_updates(table, 1000, 3).updates, random_updates(table, 1000, 3).updates);
    EXPECT_NE(random_updates(table, 1000, 3).updates, random_updates(table, 1000, 4).updates);
}

TEST(Updates, UndoBringsTheTableBackAndUpdatedIsWhatTheyLead) {
    const Table table = generate_internet(Family::ipv4, 1000);
    const auto sequence = random_updates(table, 3000, 1);
    const auto after = applied(as_map(table), sequence.updates);
    EXPECT_NE(after, as_map(table));
    EXPECT_EQ(as_map(updated(table, sequence.updates)), after);
    EXPECT_EQ(applied(after, sequence.undo), as_map(table));
}

TEST(Updates, TracesAreParsed) {
    const Table table = table_of(Family::ipv4, {{"10.0.0.0/8", 3}});
    const auto sequence = parse_updates(table,
                                        "1470931200 a 10.0.0.0/8 1\n"
                                        "1470931200 a 2001:db8::/32 1\n"
                                        "\n"
                                        "1470931201 w 11.0.0.0/8 4\n"
                                        "1470931201 a 12.0.0.0/8 5",
                                        "trace");
    const std::vector<Update> expected{{*Prefix::parse("10.0.0.0/8"), 2},
                                       {*Prefix::parse("11.0.0.0/8"), 0},
                                       {*Prefix::parse("12.0.0.0/8"), 3}};
    EXPECT_EQ(sequence.updates, expected);
    const std::vector<Update> undo{{*Prefix::parse("10.0.0.0/8"), 3},
                                   {*Prefix::parse("11.0.0.0/8"), 0},
                                   {*Prefix::parse("12.0.0.0/8"), 0}};
    EXPECT_EQ(sequence.undo, undo);
}

TEST(Updates, BadTracesAreRefusedWithTheirLine) {
    const Table table = table_of(Family::ipv4, {{"10.0.0.0/8", 1}});
    for (const char* line :
         {"1 x 10.0.0.0/8 1", "1 a 10.0.0.0/40 1", "1 a 10.0.0.0/8", "1 a 10.0.0.0/8 z", "1"}) {
        try {
            parse_updates(table, std::string("1 w 10.0.0.0/8 1\n") + line, "trace");
            ADD_FAILURE() << line;
        } catch (const harness::Failure& failure) {
            EXPECT_TRUE(std::string(failure.what()).starts_with("trace:2: ")) << failure.what();
        }
    }
}

}  // namespace
}  // namespace pktpit::bench::fib
