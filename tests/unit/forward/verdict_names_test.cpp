// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

TEST(VerdictNames, AreUniqueAndFitForMetrics) {
    std::set<std::string> names;
    for (int i = 0; i < PP_VERDICT_COUNT; i++) {
        const auto verdict = static_cast<pp_verdict>(i);
        const std::string name = name_of(verdict);
        EXPECT_TRUE(names.insert(name).second) << name;
        for (const char c : name)
            EXPECT_TRUE(std::islower(c) || std::isdigit(c) || c == '_') << name;
        EXPECT_FALSE(std::string(meaning_of(verdict)).empty());
        // People read the action off the name.
        EXPECT_EQ(name.starts_with("drop_") || name == "none", action_of(verdict) == PP_ACTION_DROP) << name;
        EXPECT_EQ(name.starts_with("host_"), action_of(verdict) == PP_ACTION_HOST) << name;
    }
}

TEST(VerdictNames, AreAllInThePageForPeople) {
    std::ifstream page(PKTPIT_SOURCE_DIR "/docs/packets.md");
    const std::string text{std::istreambuf_iterator<char>(page), {}};
    for (int verdict = PP_NONE + 1; verdict < PP_VERDICT_COUNT; verdict++) {
        const auto number = static_cast<pp_verdict>(verdict);
        EXPECT_NE(text.find("| `" + std::string(name_of(number)) + "` |"), std::string::npos)
            << name_of(number);
    }
}

TEST(VerdictNames, OfANumberOfALaterVersionAreNone) {
    EXPECT_STREQ(name_of(static_cast<pp_verdict>(PP_VERDICT_CAPACITY - 1)), "none");
    EXPECT_EQ(action_of(static_cast<pp_verdict>(PP_VERDICT_COUNT)), PP_ACTION_DROP);
}

}  // namespace
}  // namespace pktpit::router
