// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/freeze.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/until.h"

namespace pktpit::bench::harness {
namespace {

/// proc(5), /proc/PID/task/TID/stat: the letter after the name.
std::vector<char> thread_states(pid_t process) {
    std::vector<char> states;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        std::ifstream file(task.path() / "stat");
        std::string line;
        std::getline(file, line);
        states.push_back(line.at(line.rfind(')') + 2));
    }
    return states;
}

/// One thread waits, the others poll without end, as a forwarder's do.
pid_t start_busy_process(unsigned threads) {
    const pid_t child = fork();
    if (child != 0) return child;
    for (unsigned i = 0; i < threads; i++)
        std::thread([] {
            for (volatile uint64_t count = 0;;)
                count = count + 1;
        }).detach();
    for (;;)
        pause();
}

TEST(Freeze, returns_when_every_thread_has_stopped) {
    constexpr unsigned threads = 4;
    const pid_t child = start_busy_process(threads);
    ASSERT_GT(child, 0);
    ASSERT_TRUE(pktpit::test::until([&] { return thread_states(child).size() == threads + 1; }));
    for (int again = 0; again < 50; again++) {
        freeze_process(child);
        EXPECT_EQ(thread_states(child), std::vector<char>(threads + 1, 'T'));
        thaw_process(child);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST(Freeze, a_process_that_has_ended_is_left_to_be_waited_for) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    siginfo_t ended{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    freeze_process(child);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace pktpit::bench::harness
