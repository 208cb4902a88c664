// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/realtime_limit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "tests/until.h"

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

TEST(NoRealtimeLimit, IsLiftedAndPutBackOrWasNone) {
    for (const int64_t before : {950000, -1}) {
        const LimitFile file(before);
        {
            const NoRealtimeLimit lifted(file.path());
            EXPECT_EQ(file.value(), -1);
        }
        EXPECT_EQ(file.value(), before);
    }
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
    ASSERT_TRUE(pktpit::test::until([&] { return file.value() == -1; }));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(pktpit::test::until([&] { return file.value() == 950000; }));
}

// A forwarder's threads are listed, then set one after the other; some end between the two.
TEST(ScheduleThread, AThreadThatHasEndedIsNoError) {
    pid_t ended = 0;
    std::thread([&] { ended = gettid(); }).join();
    // The kernel wakes who joins a little before it forgets the thread.
    while (std::filesystem::exists("/proc/self/task/" + std::to_string(ended)))
        std::this_thread::yield();
    EXPECT_FALSE(schedule_thread(ended, std::nullopt, Schedule::router));
    EXPECT_FALSE(schedule_thread(ended, 0, Schedule::router));
    constexpr unsigned no_such_cpu = CPU_SETSIZE - 1;
    EXPECT_THROW(schedule_thread(0, no_such_cpu, Schedule::router), Failure) << "what else is refused is one";
}

}  // namespace
}  // namespace pktpit::bench::harness
