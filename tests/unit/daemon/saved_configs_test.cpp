// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/saved_configs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/config/support.h"

namespace pktpit::router {
namespace {

class SavedConfigsTest : public ::testing::Test {
  protected:
    [[nodiscard]] SavedState state() const { return saved.load().value(); }

    const config::test::TemporaryDirectory folder;
    const std::string path = folder.path() + "/i.configs";
    SavedConfigs saved{path};
};

TEST_F(SavedConfigsTest, NothingIsThereAtFirst) {
    EXPECT_TRUE(state().configs.empty());
    EXPECT_EQ(state().back(0), nullptr);
    EXPECT_FALSE(saved.add("/a", "1", true)) << "nothing to go back to";
}

TEST_F(SavedConfigsTest, WhatWasConfirmedLastComesBackHoweverManyFollow) {
    ASSERT_TRUE(saved.add("/a", "first", false));
    for (int i = 0; i < 50; i++)
        ASSERT_TRUE(saved.add("/a", "try " + std::to_string(i), true));
    EXPECT_EQ(state().configs.size(), SavedConfigs::most);
    ASSERT_TRUE(state().confirmed);
    ASSERT_NE(state().numbered(*state().confirmed), nullptr);
    EXPECT_EQ(state().numbered(*state().confirmed)->text, "first");
    EXPECT_EQ(state().back(0)->text, "try 49");
    ASSERT_TRUE(saved.confirmed());
    EXPECT_FALSE(state().confirmed);
}

TEST_F(SavedConfigsTest, TheSameIsNotThereTwiceAndWhatIsTooLargeHasNoText) {
    ASSERT_TRUE(saved.add("/a", "same", false));
    ASSERT_TRUE(saved.add("/a", "same", false));
    EXPECT_EQ(state().configs.size(), 1u);
    ASSERT_TRUE(saved.add("/b", "same", false));
    EXPECT_EQ(state().configs.size(), 2u) << "of another file: other relative paths";
    ASSERT_TRUE(saved.add("/a", std::string(SavedConfigs::largest + 1, ' '), false));
    EXPECT_EQ(state().back(0)->text, "");
    EXPECT_EQ(state().back(0)->number, 3u);
}

TEST_F(SavedConfigsTest, TheFileIsWrittenWholeAndIsNobodyElses) {
    ::umask(0);
    ASSERT_TRUE(saved.add("/a", "{\"ü\": \"\\n\"}", false));
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    std::ofstream(path + ".new") << "a killed daemon's";
    ASSERT_TRUE(saved.add("/a", "2", false));
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    const SavedState now = state();
    EXPECT_EQ(parse_saved_configs(to_text(now), "x").value(), now);
}

/// A file with configurations of these numbers, applied at this time.
std::string file_with(const std::vector<std::string>& numbers, const std::string& confirmed,
                      const std::string& time = "1") {
    std::string configs;
    for (const std::string& number : numbers)
        configs += std::string(configs.empty() ? "" : ", ") + R"({"number": )" + number + R"(, "time": )" +
                   time + R"(, "file": "/a", "text": "{}"})";
    return R"({"version": 1, "configs": [)" + configs + R"(], "confirmed": )" + confirmed + "}";
}

TEST_F(SavedConfigsTest, AnyOtherFileIsAnErrorAndIsWrittenOver) {
    ASSERT_TRUE(parse_saved_configs(file_with({"1", "3"}, "1"), "x"));
    for (const std::string& text : {
             std::string(),
             std::string("{"),
             std::string("[]"),
             std::string("{}"),
             std::string(R"({"version": 2, "configs": [], "confirmed": null})"),
             std::string(R"({"version": 1, "configs": [{}], "confirmed": null})"),
             std::string(R"({"version": 1, "configs": 3, "confirmed": null})"),
             std::string(R"({"version": 1, "configs": {}, "confirmed": null})"),
             file_with({R"("x")"}, "null"),
             file_with({"0"}, "null"),
             file_with({"-1"}, "null"),
             file_with({"1.5"}, "null"),
             file_with({"1e300"}, "null"),
             file_with({"18446744073709551615"}, "null"),
             file_with({"true"}, "null"),
             file_with({"1"}, "null", "-1"),
             file_with({"2", "1"}, "null"),
             file_with({"1", "2"}, "3"),
             file_with({"1", "2"}, "true"),
             // More than are kept, all of the number that may not go: there would be none to forget.
             file_with(std::vector<std::string>(SavedConfigs::most + 1, "1"), "1"),
         }) {
        std::ofstream(path, std::ios::trunc) << text;
        EXPECT_FALSE(saved.load()) << text;
    }
    ASSERT_TRUE(saved.add("/a", "1", false));
    EXPECT_EQ(state().configs.size(), 1u);
}

}  // namespace
}  // namespace pktpit::router
