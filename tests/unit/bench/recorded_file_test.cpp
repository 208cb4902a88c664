// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/recorded_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/harness/workload.h"

namespace pktpit::bench::harness {
namespace {

/// PKTPIT_DATA as one test wants it; afterwards, as it was.
class RecordedFile : public testing::Test {
  protected:
    void SetUp() override {
        if (const char* before = std::getenv("PKTPIT_DATA")) before_ = before;
        folder_ = testing::TempDir() + "/recorded_" + std::to_string(getpid());
        std::filesystem::create_directory(folder_);
        std::ofstream(folder_ + "/routes.txt") << "20.0.0.0/24 1\n";
    }
    void TearDown() override {
        std::filesystem::remove_all(folder_);
        if (before_.empty())
            unsetenv("PKTPIT_DATA");
        else
            setenv("PKTPIT_DATA", before_.c_str(), 1);
    }

    std::string before_;
    std::string folder_;
};

TEST_F(RecordedFile, is_found_by_the_variable) {
    setenv("PKTPIT_DATA", folder_.c_str(), 1);
    EXPECT_EQ(recorded_file("", "routes.txt"), folder_ + "/routes.txt");
    EXPECT_EQ(recorded_file("", "others.txt"), std::nullopt);
}

TEST_F(RecordedFile, a_named_folder_comes_instead_of_the_variable) {
    setenv("PKTPIT_DATA", "/nonexistent", 1);
    EXPECT_EQ(recorded_file(folder_, "routes.txt"), folder_ + "/routes.txt");
    setenv("PKTPIT_DATA", folder_.c_str(), 1);
    EXPECT_EQ(recorded_file("/nonexistent", "routes.txt"), std::nullopt);
    EXPECT_EQ(describe_missing("/nonexistent", "routes.txt"), "no /nonexistent/routes.txt");
}

TEST_F(RecordedFile, without_it_a_workload_is_generated_and_says_so) {
    unsetenv("PKTPIT_DATA");
    const Workload workload = make_workload(Family::ipv6, Table::internet, 64, "");
    EXPECT_EQ(workload.prefixes.size(), 64u);
    EXPECT_NE(workload.description.find("generated"), std::string::npos) << workload.description;
    EXPECT_NE(workload.description.find("PKTPIT_DATA"), std::string::npos) << workload.description;
    EXPECT_EQ(workload.label, "64 generated routes");
}

TEST_F(RecordedFile, with_it_a_workload_is_of_its_routes) {
    std::ofstream routes(folder_ + "/" + std::string(internet_table_file(Family::ipv4)));
    routes << "20.0.1.0/24 1\n20.0.2.0/24 2\n20.0.3.0/24 1\n";
    routes.close();
    const Workload workload = make_workload(Family::ipv4, Table::internet, 0, folder_);
    EXPECT_EQ(workload.prefixes.size(), 3u);
    EXPECT_EQ(workload.description, "all 3 routes of the Internet table of June 2026");
    EXPECT_EQ(workload.label, "3 Internet routes");
}

}  // namespace
}  // namespace pktpit::bench::harness
