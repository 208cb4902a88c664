// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/event_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace pktpit::router {
namespace {

Fd ready_descriptor() {
    return Fd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
}

// As where a reload exchanges the connection for kernel routes while that has events, too.
TEST(EventLoop, a_watch_may_end_while_its_descriptor_is_readable) {
    EventLoop loop;
    const Fd one = ready_descriptor(), other = ready_descriptor();
    std::set<int> called;
    const auto end_the_other = [&](int own, int the_other) {
        called.insert(own);
        loop.unwatch(the_other);
        loop.post([&] { loop.stop(); });  // after the rest of this turn
    };
    loop.watch(one.get(), [&] { end_the_other(one.get(), other.get()); });
    loop.watch(other.get(), [&] { end_the_other(other.get(), one.get()); });
    loop.run();
    EXPECT_EQ(called.size(), 1U);
}

TEST(EventLoop, a_callback_may_end_its_own_watch) {
    EventLoop loop;
    const Fd descriptor = ready_descriptor();
    std::string after;
    loop.watch(descriptor.get(), [&, said = std::string(100, 'x')] {
        loop.unwatch(descriptor.get());
        after = said;  // still there
        loop.stop();
    });
    loop.run();
    EXPECT_EQ(after, std::string(100, 'x'));
}

TEST(EventLoop, work_aside_is_done_on_another_thread_and_told_on_this_one) {
    EventLoop loop;
    const auto here = std::this_thread::get_id();
    std::thread::id worked, told;
    loop.aside([&] { worked = std::this_thread::get_id(); },
               [&] {
                   told = std::this_thread::get_id();
                   loop.stop();
               });
    loop.run();
    EXPECT_NE(worked, here);
    EXPECT_EQ(told, here);
}

TEST(EventLoop, work_aside_that_throws_is_told_as_done) {
    EventLoop loop;
    loop.aside([] { throw std::runtime_error("the kernel"); }, [&] { loop.stop(); });
    loop.run();
}

TEST(EventLoop, the_end_waits_for_work_that_is_under_way) {
    EventLoop loop;
    std::promise<void> begun, go_on;
    bool done = false;
    loop.aside(
        [&] {
            begun.set_value();
            go_on.get_future().wait();
            done = true;
        },
        [] {});
    begun.get_future().wait();
    std::thread other([&] { go_on.set_value(); });
    loop.finish_aside();
    EXPECT_TRUE(done);
    other.join();
}

}  // namespace
}  // namespace pktpit::router
