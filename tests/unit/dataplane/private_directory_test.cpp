// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/private_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace pktpit::router {
namespace {

class PrivateDirectory : public testing::Test {
  protected:
    std::string path_ = testing::TempDir() + "private_directory_" + std::to_string(getpid());
    ~PrivateDirectory() override { std::filesystem::remove_all(path_); }
    [[nodiscard]] unsigned mode() const {
        struct stat status {};
        return lstat(path_.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
    }
};

TEST_F(PrivateDirectory, is_made_narrow_and_kept) {
    ASSERT_TRUE(make_private_directory(path_, 0700));
    EXPECT_EQ(mode(), 0700U);
    ASSERT_TRUE(make_private_directory(path_, 0700));
}

TEST_F(PrivateDirectory, that_more_could_look_into_is_narrowed) {
    ASSERT_EQ(mkdir(path_.c_str(), 0755), 0);
    ASSERT_TRUE(make_private_directory(path_, 0750));
    EXPECT_EQ(mode(), 0750U);
}

TEST_F(PrivateDirectory, that_others_can_write_to_is_refused) {
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
    EXPECT_FALSE(make_private_directory(path_, 0700));
    EXPECT_FALSE(check_directory(path_, true));
    ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
    EXPECT_FALSE(check_directory(path_));
    EXPECT_TRUE(check_directory(path_, true));
}

TEST_F(PrivateDirectory, of_another_user_is_trusted_only_where_root_alone_can_have_put_it) {
    if (geteuid() != 0) GTEST_SKIP() << "gives directories away";
    const std::string given = path_ + "/given";
    ASSERT_EQ(mkdir(path_.c_str(), 0755), 0);
    ASSERT_EQ(mkdir(given.c_str(), 0700), 0);
    ASSERT_EQ(chown(given.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(check_directory(given));
    EXPECT_TRUE(check_given_directory(given));
    ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
    EXPECT_FALSE(check_given_directory(given));
}

TEST_F(PrivateDirectory, that_is_a_link_is_refused) {
    ASSERT_EQ(symlink("/tmp", path_.c_str()), 0);
    EXPECT_FALSE(make_private_directory(path_, 0700));
}

}  // namespace
}  // namespace pktpit::router
