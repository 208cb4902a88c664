// SPDX-License-Identifier: BSD-3-Clause
// The allow-list of system calls, in children of their own: it is never taken off again.
#include "router/daemon/system_calls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

namespace pktpit::router {
namespace {

struct Ended {
    int status = -1;
    std::string said;  ///< on standard error
};

/// What a child that has the list says and how it ends.
Ended with_the_list(const std::function<int()>& child) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return {};
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(pipe_ends[1], STDERR_FILENO);
        ::_exit(allow_known_system_calls() ? child() : 99);
    }
    ::close(pipe_ends[1]);
    Ended ended;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
        ended.said.append(buffer, static_cast<size_t>(got));
    ::close(pipe_ends[0]);
    ::waitpid(pid, &ended.status, 0);
    return ended;
}

class SystemCallsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (system_calls_are_left_open()) GTEST_SKIP() << "a build with a sanitizer has no list";
    }
};

TEST_F(SystemCallsTest, a_call_that_is_not_listed_fails_is_told_once_and_the_process_goes_on) {
    const Ended ended = with_the_list([] {
        for (int i = 0; i < 3; i++) {
            errno = 0;
            if (::syscall(SYS_swapoff, "/nowhere") != -1 || errno != EPERM) return 1;
        }
        return ::syscall(SYS_getpid) > 0 ? 0 : 2;
    });
    EXPECT_TRUE(WIFEXITED(ended.status));
    EXPECT_EQ(WEXITSTATUS(ended.status), 0);
    const std::string number = "system call " + std::to_string(SYS_swapoff) + " is not on the allow-list";
    const size_t first = ended.said.find(number);
    EXPECT_NE(first, std::string::npos) << ended.said;
    EXPECT_EQ(ended.said.find(number, first + 1), std::string::npos) << ended.said;
}

TEST_F(SystemCallsTest, threads_are_made_and_have_the_list_too) {
    const Ended ended = with_the_list([] {
        int result = 1;
        std::thread([&] {
            result = ::syscall(SYS_swapoff, "/nowhere") == -1 && errno == EPERM ? 0 : 2;
        }).join();
        return result;
    });
    EXPECT_EQ(WEXITSTATUS(ended.status), 0) << ended.said;
}

TEST_F(SystemCallsTest, what_takes_over_a_machine_is_not_listed) {
    const std::pair<const char*, std::function<long()>> calls[] = {
        {"execve", [] { return ::syscall(SYS_execve, "/bin/true", nullptr, nullptr); }},
        {"ptrace", [] { return ::syscall(SYS_ptrace, 0, 0, nullptr, nullptr); }},
        {"mount", [] { return ::syscall(SYS_mount, "", "", "", 0, nullptr); }},
        {"setuid", [] { return ::syscall(SYS_setuid, 0); }},
        {"unshare", [] { return ::syscall(SYS_unshare, CLONE_NEWUSER); }},
        {"a namespace by clone", [] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }},
        {"init_module", [] { return ::syscall(SYS_init_module, nullptr, 0, ""); }},
        {"io_uring", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
        {"keyctl", [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
        {"another family of sockets", [] { return long{::socket(AF_VSOCK, SOCK_STREAM, 0)}; }},
    };
    for (const auto& [name, call] : calls) {
        const Ended ended = with_the_list([&call = call] { return call() == -1 && errno == EPERM ? 0 : 1; });
        EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0) << name << ": " << ended.said;
    }
}

TEST_F(SystemCallsTest, the_families_of_the_daemons_sockets_are) {
    const Ended ended = with_the_list([] {
        for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
            if (const int made = ::socket(family, family == AF_NETLINK ? SOCK_RAW : SOCK_DGRAM, 0); made < 0)
                return 1;
        return 0;
    });
    EXPECT_EQ(WEXITSTATUS(ended.status), 0) << ended.said;
}

}  // namespace
}  // namespace pktpit::router
