// SPDX-License-Identifier: BSD-3-Clause
// Where a reload's file may lie, and what its errors tell whom.
#include "router/daemon/prepared.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/config/support.h"

namespace pktpit::router {
namespace {

class PreparedTest : public ::testing::Test {
  protected:
    PreparedTest() {
        std::filesystem::create_directory(folder_ + "/allowed");
        std::filesystem::create_directory(folder_ + "/allowed/below");
        std::filesystem::create_directory(folder_ + "/allowed-not");
    }

    std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    [[nodiscard]] ReloadRules rules() const { return {folder_ + "/last.json", {folder_ + "/allowed"}}; }

    const config::test::TemporaryDirectory directory_;
    const std::string folder_ = std::filesystem::canonical(directory_.path()).string();
    const std::string good_ = R"({"interfaces": {"lo": {}}})";
    const std::string broken_ = R"({"interfaces": s3cret})";
};

TEST_F(PreparedTest, the_last_file_and_those_of_the_folders_are_taken) {
    write("last.json", good_);
    EXPECT_TRUE(prepare({}, rules()));
    EXPECT_TRUE(prepare({.path = folder_ + "/last.json"}, rules()));
    EXPECT_TRUE(prepare({.path = write("allowed/a.json", good_)}, rules()));
    EXPECT_TRUE(prepare({.path = write("allowed/below/b.json", good_)}, rules()));
    EXPECT_TRUE(prepare({.path = folder_ + "/allowed/below/../a.json"}, rules()));
}

TEST_F(PreparedTest, others_are_not_and_nothing_is_told_of_them) {
    write("allowed-not/c.json", broken_);
    write("else.json", broken_);
    std::filesystem::create_symlink(folder_ + "/else.json", folder_ + "/allowed/link.json");
    std::filesystem::create_directory_symlink(folder_ + "/allowed-not", folder_ + "/allowed/linked");
    for (const std::string name : {"/allowed-not/c.json", "/else.json", "/allowed/link.json",
                                   "/allowed/linked/c.json", "/allowed/../else.json", "/is-not-there"}) {
        const auto refused = prepare({.path = folder_ + name}, rules());
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().refusal.why, ReloadRefusal::Why::forbidden) << name;
        EXPECT_EQ(refused.error().refusal.errors.front().message, "a configuration is not taken from there")
            << name;
    }
}

TEST_F(PreparedTest, who_may_not_read_the_file_is_not_told_what_is_in_it) {
    const ReloadOrder by_nobody{.path = write("allowed/a.json", broken_, 0600),
                                .by = Peer{1, 65534, 65534, {}}};
    const auto refused = prepare(by_nobody, rules());
    ASSERT_FALSE(refused);
    for (const auto& error : refused.error().refusal.errors)
        EXPECT_EQ(error.to_string().find("s3cret"), std::string::npos) << error.to_string();
    EXPECT_NE(refused.error().for_log.front().to_string().find("s3cret"), std::string::npos);
    const ReloadOrder by_root{.path = by_nobody.path, .by = Peer{1, 0, 0, {}}};
    EXPECT_NE(prepare(by_root, rules()).error().refusal.errors.front().message.find("s3cret"),
              std::string::npos);
}

TEST_F(PreparedTest, reading_needs_the_file_and_each_folder_on_the_way) {
    const std::string path = write("allowed/a.json", good_, 0640);
    EXPECT_FALSE((Peer{1, 12345, 12345, {}}.may_read(path)));
    struct stat status {};
    status.st_mode = 0640;
    status.st_uid = 7;
    status.st_gid = 8;
    EXPECT_TRUE((Peer{1, 7, 1, {}}.may(status, 04)));
    EXPECT_TRUE((Peer{1, 1, 8, {}}.may(status, 04)));
    EXPECT_TRUE((Peer{1, 1, 1, {3, 8}}.may(status, 04)));
    EXPECT_FALSE((Peer{1, 1, 1, {}}.may(status, 04)));
    status.st_mode = 0044;  // an owner whom the mode leaves out is left out
    EXPECT_FALSE((Peer{1, 7, 8, {}}.may(status, 04)));
}

TEST_F(PreparedTest, a_fifo_is_refused_at_once) {
    const std::string path = folder_ + "/allowed/fifo.json";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const auto refused = prepare({.path = path}, rules());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().refusal.errors.front().message, "is a FIFO, not a regular file");
}

TEST_F(PreparedTest, twenty_errors_are_told_and_how_many_more) {
    std::string routes;
    for (int i = 0; i < 1000; i++)
        routes += i ? ",0" : "0";
    const std::string path =
        write("allowed/a.json", R"({"interfaces": {"lo": {}}, "routes": [)" + routes + "]}");
    const auto refused = prepare({.path = path}, rules());
    ASSERT_FALSE(refused);
    ASSERT_EQ(refused.error().refusal.errors.size(), 21U);
    EXPECT_EQ(refused.error().refusal.errors.back().message, "and 980 more errors");
}

}  // namespace
}  // namespace pktpit::router
