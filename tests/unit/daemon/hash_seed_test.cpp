// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/hash_seed.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/unit/config/support.h"

namespace pktpit::router {
namespace {

class Seed : public testing::Test {
  protected:
    void write(const std::string& text, mode_t mode = 0600) const {
        std::filesystem::remove(path);
        std::ofstream(path) << text;
        chmod(path.c_str(), mode);
    }
    const config::test::TemporaryDirectory folder;
    const std::string path = folder.path() + "/x.hash_seed";
};

TEST_F(Seed, is_drawn_once_and_kept_for_its_owner_alone) {
    const HashSeed first = instance_hash_seed(path);
    EXPECT_FALSE(first.not_kept);
    struct stat file {};
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0600U);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(instance_hash_seed(path).value, first.value);
    }
    std::filesystem::remove(path);
    EXPECT_NE(instance_hash_seed(path).value, first.value);
    EXPECT_FALSE(std::filesystem::exists(path + ".incoming"));
}

TEST_F(Seed, is_read_as_it_was_written) {
    write("00000000deadbeef\n");
    EXPECT_EQ(instance_hash_seed(path).value, 0xdeadbeefU);
}

TEST_F(Seed, is_drawn_anew_where_the_file_is_not_as_it_was_written) {
    for (const char* text : {"", "\n", "00000000deadbeef", "00000000deadbeef\n\n", "0x0000000deadbee\n",
                             "-0000000deadbeef\n", "00000000deadbeeg\n"}) {
        write(text);
        EXPECT_NE(instance_hash_seed(path).value, 0xdeadbeefU) << text;
        std::string now;
        std::getline(std::ifstream(path), now);
        EXPECT_EQ(now.size(), 16U);
    }
    write("00000000deadbeef\n", 0640);
    EXPECT_NE(instance_hash_seed(path).value, 0xdeadbeefU) << "others could read it";
    write("00000000deadbeef\n");
    std::filesystem::rename(path, path + ".else");
    std::filesystem::create_symlink(path + ".else", path);
    EXPECT_NE(instance_hash_seed(path).value, 0xdeadbeefU) << "a link to what may be anybody's";
}

TEST_F(Seed, is_there_for_now_where_it_cannot_be_kept) {
    const HashSeed seed = instance_hash_seed("/tmp/pktpit-no-such-folder/x.hash_seed");
    ASSERT_TRUE(seed.not_kept);
    EXPECT_NE(seed.not_kept->to_string().find("seed of the flow hash"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::router
