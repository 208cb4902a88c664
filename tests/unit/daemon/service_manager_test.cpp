// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pktpit::router {
namespace {

/// In systemd's place, at an abstract address.
class Manager : public testing::Test {
  protected:
    Manager() : name_("@pktpit-test-manager-" + std::to_string(::getpid())) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        address.sun_path[0] = '\0';
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size())),
                  0);
        ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
    }
    ~Manager() override {
        ::unsetenv("NOTIFY_SOCKET");
        ::unsetenv("WATCHDOG_USEC");
    }

    /// All that waits to be read.
    std::vector<std::string> heard() {
        std::vector<std::string> all;
        char text[64];
        for (ssize_t bytes; (bytes = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT)) >= 0;)
            all.emplace_back(text, static_cast<size_t>(bytes));
        return all;
    }

    std::string name_;
    Fd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    EventLoop loop_;
};

TEST_F(Manager, IsToldEachState) {
    ServiceManager manager(loop_);
    manager.tell("READY=1");
    manager.tell("STOPPING=1");
    EXPECT_EQ(heard(), (std::vector<std::string>{"READY=1", "STOPPING=1"}));
}

TEST_F(Manager, ThatHangsHoldsNothingUpAndIsToldTheNewestStateLater) {
    ServiceManager manager(loop_);
    for (int i = 0; i < 10'000; ++i)  // more than the kernel's queue takes, net.unix.max_dgram_qlen
        manager.tell("RELOADING=1");
    manager.tell("READY=1");
    const auto taken = heard();
    ASSERT_LT(taken.size(), 10'000U);
    EXPECT_EQ(std::ranges::count(taken, "READY=1"), 0);

    std::vector<std::string> later;
    loop_.on_tick(std::chrono::milliseconds(10), [&] {
        later = heard();
        if (!later.empty()) loop_.stop();
    });
    loop_.run();
    EXPECT_EQ(later, std::vector<std::string>{"READY=1"});
}

TEST_F(Manager, ItsWatchdogIsFedByTheLoopAlone) {
    ::setenv("WATCHDOG_USEC", "2000", 1);
    ServiceManager manager(loop_);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a loop that stands still
    EXPECT_TRUE(heard().empty());
    std::vector<std::string> fed;
    loop_.on_tick(std::chrono::milliseconds(10), [&] {
        for (auto& one : heard())
            fed.push_back(std::move(one));
        if (fed.size() >= 3) loop_.stop();
    });
    loop_.run();
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(fed, "WATCHDOG=1")), fed.size());
}

TEST_F(Manager, IsNobodyWithoutItsSocket) {
    ::unsetenv("NOTIFY_SOCKET");
    ServiceManager manager(loop_);
    manager.tell("READY=1");
    EXPECT_TRUE(heard().empty());
}

}  // namespace
}  // namespace pktpit::router
