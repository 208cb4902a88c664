// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "bench/harness/failure.h"
#include "tests/unit/bench/tables.h"

namespace pktpit::bench::fib {
namespace {

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text)
        : path_(testing::TempDir() + "bench_table_" + std::to_string(getpid())) {
        std::ofstream(path_) << text;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Table, IdsBecomeGroupsInOrderOfAppearanceAndRoutesAreSorted) {
    const TemporaryFile file("10.2.0.0/16 77\n10.1.0.0/16 peer-a\n10.3.0.0/16 77\n2001:db8::/32 5\n");
    const Table table = read_table(Family::ipv4, file.path());
    EXPECT_EQ(table.groups, 2u);
    const std::vector<Route> expected{{*Prefix::parse("10.1.0.0/16"), 2},
                                      {*Prefix::parse("10.2.0.0/16"), 1},
                                      {*Prefix::parse("10.3.0.0/16"), 1}};
    EXPECT_EQ(table.routes, expected);
    EXPECT_EQ(read_table(Family::ipv6, file.path()).routes.size(), 1u);
}

TEST(Table, OfEqualPrefixesTheLastCounts) {
    const TemporaryFile file("10.0.0.0/8 1\n10.0.0.0/16 2\n10.0.0.0/8 3\n");
    const Table table = read_table(Family::ipv4, file.path());
    ASSERT_EQ(table.routes.size(), 2u);
    EXPECT_EQ(table.routes[0].group, 3u);
    EXPECT_EQ(table.routes[1].group, 2u);
}

TEST(Table, BadFilesAreRefusedWithTheirLine) {
    const TemporaryFile file("10.0.0.0/8 1\n10.0.0.0/33 2\n");
    try {
        read_table(Family::ipv4, file.path());
        FAIL();
    } catch (const harness::Failure& failure) {
        EXPECT_NE(std::string(failure.what()).find(":2"), std::string::npos) << failure.what();
    }
}

TEST(Table, AnAbsentFileIsReplacedByAGeneratedTableThatSaysSo) {
    const Table table = read_or_generate_table(Family::ipv6, "/nonexistent/table");
    EXPECT_EQ(table.routes.size(), 279'855u);
    EXPECT_EQ(table.groups, 200u);
    EXPECT_NE(table.origin.find("generated"), std::string::npos);
    EXPECT_NE(table.origin.find("/nonexistent/table"), std::string::npos);
}

TEST(Table, NextHopsAreSpreadOverAllAndNeighboursKeepTheirs) {
    Table table = generate_internet(Family::ipv4, 200'000);  // some runs of neighbours for each next hop
    spread_next_hops(table, 3771);
    EXPECT_EQ(table.groups, 3771u);
    std::set<uint32_t> used;
    for (const Route& route : table.routes)
        used.insert(route.group);
    EXPECT_EQ(*used.begin(), 1u);
    EXPECT_EQ(*used.rbegin(), 3771u);
    EXPECT_GT(used.size(), 3700u);

    Table two = table_of(Family::ipv4, {{"10.1.1.0/24", 5}, {"10.1.2.0/24", 5}, {"10.1.3.0/24", 6}});
    spread_next_hops(two, 1'000'000);
    EXPECT_EQ(two.routes[0].group, two.routes[1].group);
    EXPECT_NE(two.routes[0].group, two.routes[2].group);
}

}  // namespace
}  // namespace pktpit::bench::fib
