// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/realtime_limit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace pktpit::bench::harness {
namespace {

/// A plain file in place of the kernel's.
class LimitFile {
  public:
    explicit LimitFile(int64_t value) { std::ofstream(path_) << value; }
    ~LimitFile() { std::filesystem::remove(path_); }
    [[nodiscard]] int64_t value() const {
        int64_t value = 0;
        std::ifstream(path_) >> value;
        return value;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_ = testing::TempDir() + "realtime_limit_" + std::to_string(getpid());
};

TEST(NoRealtimeLimit, IsLiftedAndPutBack) {
    const LimitFile file(950000);
    {
        const NoRealtimeLimit lifted(file.path());
        EXPECT_EQ(file.value(), -1);
    }
    EXPECT_EQ(file.value(), 950000);
}

TEST(NoRealtimeLimit, NoneStaysNone) {
    const LimitFile file(-1);
    {
        const NoRealtimeLimit lifted(file.path());
        EXPECT_EQ(file.value(), -1);
    }
    EXPECT_EQ(file.value(), -1);
}

TEST(NoRealtimeLimit, NothingIsWrittenWhereNothingCanBeRead) {
    const std::string absent = testing::TempDir() + "realtime_limit_absent";
    { const NoRealtimeLimit lifted(absent); }
    EXPECT_FALSE(std::filesystem::exists(absent));
}

TEST(NoRealtimeLimit, IsPutBackAfterSigkill) {
    const LimitFile file(950000);
    const pid_t child = fork();
    if (child == 0) {
        const NoRealtimeLimit lifted(file.path());
        pause();
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (file.value() != -1 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(file.value(), -1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (file.value() != 950000 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(file.value(), 950000);
}

}  // namespace
}  // namespace pktpit::bench::harness
