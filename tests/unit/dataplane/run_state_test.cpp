// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pktpit::router {
namespace {

RunState example() {
    return {
        4026531840,
        {{7, {{"forwarding", "0"}, {"keep_addr_on_down", "-1"}, {"receive_vlan_offload", "1"}}}, {12, {}}}};
}

TEST(RunState, what_is_written_is_read) {
    EXPECT_EQ(parse_run_state(to_text(example()), "x"), example());
    EXPECT_EQ(parse_run_state(to_text({}), "x"), RunState{});
}

TEST(RunState, a_file_that_is_not_a_daemons_is_refused_with_its_line) {
    for (const char* text :
         {"", "pktpit-state 2\n", "pktpit-state 1\nnamespace\n", "pktpit-state 1\nnamespace -1\n",
          "pktpit-state 1\ndevice 0 forwarding=1\n", "pktpit-state 1\ndevice 7 forwarding=x\n",
          "pktpit-state 1\ndevice 7 ../../kernel/core_pattern=1\n",
          "pktpit-state 1\ndevice 7 forwarding=1;\n", "pktpit-state 1\ndevice 7\ndevice 7\n",
          "pktpit-state 1\ndevice 7 forwarding=1 forwarding=0\n",
          "pktpit-state 1\ndevice 99999999999 forwarding=1\n", "pktpit-state 1\n\n"})
        EXPECT_FALSE(parse_run_state(text, "x")) << text;
    const auto wrong = parse_run_state("pktpit-state 1\nnamespace 5\nroot:x:0:0\n", "/run/pktpit/a.state");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().where, "/run/pktpit/a.state:3");
}

class RunStateFile : public testing::Test {
  protected:
    std::string path_ = testing::TempDir() + "run_state_" + std::to_string(getpid());
    ~RunStateFile() override { std::filesystem::remove_all(path_); }
};

TEST_F(RunStateFile, is_replaced_whole_and_readable_by_its_owner_and_group_alone) {
    EXPECT_EQ(load_run_state(path_).value(), std::nullopt);
    ASSERT_TRUE(save_run_state(path_, {}));
    ASSERT_TRUE(save_run_state(path_, example()));
    EXPECT_EQ(load_run_state(path_).value(), example());
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U & ~0640U, 0U);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(RunStateFile, that_cannot_be_replaced_stays) {
    std::filesystem::create_directory(path_);
    EXPECT_FALSE(save_run_state(path_, example()));
    EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
    EXPECT_FALSE(load_run_state(path_)) << "not a regular file";
}

TEST_F(RunStateFile, a_fifo_is_not_waited_for) {
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_FALSE(load_run_state(path_));
}

}  // namespace
}  // namespace pktpit::router
