// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace pktpit::router {
namespace {

TEST(Cpus, ListsAreShort) {
    EXPECT_EQ(cpu_list({}), "");
    EXPECT_EQ(cpu_list({3}), "3");
    EXPECT_EQ(cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(Cpus, ThoseOfThisProcessAreUsable) {
    const auto usable = usable_cpus();
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(usable.size(), static_cast<size_t>(CPU_COUNT(&set)));
    for (const uint16_t cpu : usable)
        EXPECT_TRUE(CPU_ISSET(cpu, &set));
}

TEST(Cpus, OneThatIsNotThereIsNamed) {
    EXPECT_TRUE(check_cpus({2, {1, 3}, {}}, {0, 1, 2, 3}));
    EXPECT_TRUE(check_cpus({4, {}, {}}, {0}));
    const auto refused = check_cpus({2, {1, 4}, {}}, {0, 1, 2, 3});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "/workers/cpus/1");
    EXPECT_NE(refused.error().message.find("there is no CPU 4"), std::string::npos);
    EXPECT_EQ(refused.error().expected, "one of 0-3");
}

}  // namespace
}  // namespace pktpit::router
