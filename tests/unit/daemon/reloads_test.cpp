// SPDX-License-Identifier: BSD-3-Clause
// Reloads: one at a time, read on a thread of their own, applied on the loop; nobody waits for ever.
#include "router/daemon/reloads.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <future>

#include "tests/unit/api/fake_daemon.h"
#include "tests/until.h"

namespace pktpit::router {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::Loop;

/// Files are read as slowly as the test likes. Not destroyed before its reader has ended.
struct Disk {
    std::mutex mutex;
    std::condition_variable changed;
    bool slow = false;
    std::atomic<int> reading = 0;
    std::atomic<int> most_at_once = 0;
    std::atomic<bool> thrown = false;

    void read() {
        most_at_once = std::max<int>(most_at_once, ++reading);
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !slow; });
        reading--;
        if (thrown) throw std::runtime_error("a bug");
    }
    void set_slow(bool now) {
        const std::lock_guard lock(mutex);
        slow = now;
        changed.notify_all();
    }
};

class ReloadsTest : public ::testing::Test {
  protected:
    Reloads::Steps steps(std::chrono::milliseconds patience = pktpit::test::patience) {
        return {[disk = disk](const ReloadOrder& order) -> tl::expected<Prepared, ReloadRefusal> {
                    disk->read();
                    if (order.path == "/wrong")
                        return tl::unexpected(ReloadRefusal{{{"/wrong", "is wrong", "", ""}}});
                    return Prepared{order.path.value_or("last"), {}, {}};
                },
                [this](const Prepared& wanted, bool dry_run) -> Reloads::Answer {
                    EXPECT_EQ(std::this_thread::get_id(), loop.id());
                    applied.push_back(wanted.file);
                    return json{{"dry", dry_run}};
                },
                [this](std::function<void()> call) { loop.post(std::move(call)); }, patience};
    }
    bool is_being_read() const {
        return pktpit::test::until([this] { return disk->reading > 0; });
    }

    std::shared_ptr<Disk> disk = std::make_shared<Disk>();
    std::vector<std::string> applied;
    Loop loop;
};

TEST_F(ReloadsTest, answers_are_those_of_its_two_steps) {
    Reloads reloads(steps());
    EXPECT_EQ(reloads.reload({.path = "/a", .dry_run = true}).value(), (json{{"dry", true}}));
    const auto refused = reloads.reload({.path = "/wrong"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().errors.front().where, "/wrong");
    EXPECT_EQ(refused.error().why, ReloadRefusal::Why::wrong);
    EXPECT_EQ(applied, std::vector<std::string>{"/a"});
}

TEST_F(ReloadsTest, one_at_a_time_and_all_are_made) {
    Reloads reloads(steps());
    std::vector<std::future<Reloads::Answer>> pending;
    for (int i = 0; i < 8; i++)
        pending.push_back(std::async(std::launch::async, [&] { return reloads.reload({.path = "/x"}); }));
    for (auto& answer : pending)
        EXPECT_TRUE(answer.get());
    EXPECT_EQ(disk->most_at_once, 1);
    EXPECT_EQ(applied.size(), 8U);
}

TEST_F(ReloadsTest, who_waits_too_long_is_told_and_gets_nothing) {
    Reloads reloads(steps(50ms));
    disk->set_slow(true);
    auto first = std::async(std::launch::async, [&] { return reloads.reload({.path = "/first"}); });
    ASSERT_TRUE(is_being_read());
    const auto second = reloads.reload({.path = "/second"});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().why, ReloadRefusal::Why::busy);
    EXPECT_TRUE(second.error().unchanged);
    disk->set_slow(false);
    EXPECT_TRUE(first.get());
    EXPECT_TRUE(reloads.reload({.path = "/third"}));
    EXPECT_EQ(applied, (std::vector<std::string>{"/first", "/third"}));
}

TEST_F(ReloadsTest, the_loop_works_while_a_file_is_read) {
    Reloads reloads(steps());
    disk->set_slow(true);
    auto slow = std::async(std::launch::async, [&] { return reloads.reload({}); });
    ASSERT_TRUE(is_being_read());
    std::promise<void> turned;
    loop.post([&] { turned.set_value(); });
    EXPECT_EQ(turned.get_future().wait_for(pktpit::test::patience), std::future_status::ready);
    disk->set_slow(false);
    EXPECT_TRUE(slow.get());
}

TEST_F(ReloadsTest, stopping_tells_those_who_wait_and_leaves_a_slow_file_alone) {
    std::optional<Reloads> reloads(std::in_place, steps());
    disk->set_slow(true);
    auto reading = std::async(std::launch::async, [&] { return reloads->reload({}); });
    ASSERT_TRUE(is_being_read());
    auto waiting = std::async(std::launch::async, [&] { return reloads->reload({}); });
    EXPECT_FALSE(reloads->stop()) << "the file is read for as long as the test wants";
    for (auto* pending : {&reading, &waiting}) {
        const auto told = pending->get();
        ASSERT_FALSE(told);
        EXPECT_EQ(told.error().errors.front().message, "the daemon is stopping");
    }
    reloads.reset();
    disk->set_slow(false);
    loop.finish();
    EXPECT_TRUE(applied.empty());
    EXPECT_TRUE(pktpit::test::until([this] { return disk.use_count() == 1; }))
        << "the thread that was left alone";
}

TEST_F(ReloadsTest, by_a_signal_nobody_waits_and_repeated_ones_are_one) {
    Reloads reloads(steps());
    disk->set_slow(true);
    std::atomic<int> done = 0;
    reloads.reload_soon([&] { done++; });
    ASSERT_TRUE(is_being_read());
    for (int i = 0; i < 5; i++)
        reloads.reload_soon([&] { done++; });
    disk->set_slow(false);
    EXPECT_TRUE(reloads.reload({}));
    EXPECT_EQ(done, 2);
    EXPECT_EQ(applied.size(), 3U);
}

TEST_F(ReloadsTest, a_bug_comes_to_who_asked_and_the_next_one_is_made) {
    Reloads reloads(steps());
    disk->thrown = true;
    EXPECT_THROW((void)reloads.reload({}), std::runtime_error);
    disk->thrown = false;
    EXPECT_TRUE(reloads.reload({}));
}

}  // namespace
}  // namespace pktpit::router
