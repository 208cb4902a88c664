// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/load_plugin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pktpit::router {
namespace {

namespace fs = std::filesystem;

class LoadPlugin : public testing::Test {
  protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }
    [[nodiscard]] Error error() const {
        const std::vector<fs::path> folders{folder_ / "nowhere", folder_};
        const auto loaded = load_plugin("dpdk", folders);
        return loaded ? Error{} : loaded.error();
    }
    // The loader knows objects by their names and their inodes, and keeps them.
    fs::path folder_ =
        fs::path(testing::TempDir()) /
        (testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid()));
    fs::path file_ = folder_ / "dataplane-dpdk.so";
};

TEST_F(LoadPlugin, absent_names_its_package) {
    const Error said = error();
    EXPECT_EQ(said.where, "/dataplane");
    EXPECT_NE(said.message.find("not installed"), std::string::npos) << said.to_string();
    EXPECT_NE(said.expected.find(file_.string()), std::string::npos) << said.to_string();
    EXPECT_NE(said.hint.find("package pktpit-dpdk"), std::string::npos) << said.to_string();
}

TEST_F(LoadPlugin, no_shared_object) {
    std::ofstream(file_) << "no ELF at all";
    EXPECT_NE(error().message.find("cannot be loaded"), std::string::npos) << error().to_string();
}

TEST_F(LoadPlugin, object_without_the_function) {
    fs::create_symlink(PKTPIT_NO_PLUGIN, file_);
    EXPECT_NE(error().message.find("no dataplane of Pktpit"), std::string::npos) << error().to_string();
}

TEST_F(LoadPlugin, of_another_version) {
    fs::create_symlink(PKTPIT_OTHER_VERSION, file_);
    const Error said = error();
    EXPECT_NE(said.message.find("is of Pktpit 0.0.0-other"), std::string::npos) << said.to_string();
    EXPECT_NE(said.hint.find("pktpit-dpdk of one version"), std::string::npos) << said.to_string();
}

TEST_F(LoadPlugin, of_another_build) {
    fs::create_symlink(PKTPIT_OTHER_BUILD, file_);
    EXPECT_NE(error().message.find("another build of this version"), std::string::npos)
        << error().to_string();
}

TEST(PluginFolders, build_and_installation) {
    const auto program = fs::read_symlink("/proc/self/exe").parent_path();
    EXPECT_EQ(plugin_folders(), (std::vector<fs::path>{program, program.parent_path() / "lib" / "pktpit"}));
}

}  // namespace
}  // namespace pktpit::router
