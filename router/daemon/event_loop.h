// SPDX-License-Identifier: BSD-3-Clause
/// The daemon's loop: file descriptors, a tick, signals, closures that other threads hand over, and behind
/// all of these work that lasts long, in turns. Everything that owns state runs on the one thread inside
/// run(); post() is the only way in from outside.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "router/control/descriptor_watcher.h"
#include "router/daemon/side_thread.h"
#include "router/loop/latency.h"

namespace pktpit::router {

class EventLoop : public DescriptorWatcher {
  public:
    using Callback = std::function<void()>;

    /// Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR2 for the whole process: make the loop before any thread.
    EventLoop();

    void watch(int descriptor, Callback readable) override;
    void unwatch(int descriptor) override;
    void after_others(Callback turn) override { turns_.push_back(std::move(turn)); }
    void aside(const Callback& work, const Callback& then) override;
    void finish_aside() override { side_.finish(); }
    /// May be called several times, for ticks of different periods.
    void on_tick(std::chrono::milliseconds period, Callback tick);
    void on_signal(int signal, Callback callback) { signals_[signal] = std::move(callback); }
    /// Any thread: runs the closure on the loop's thread, soon. Closures posted after run() has returned are
    /// run by drain().
    void post(Callback closure);
    /// Runs what has been posted.
    void drain();

    void run();
    void stop() { running_ = false; }
    /// How long its turns took: from an event, or a turn of work that was due, to the next wait.
    [[nodiscard]] LatencyCounts turns() const { return turn_times_.read(); }
    /// Before run(): SIGTERM or SIGINT waits to be handled.
    [[nodiscard]] static bool asked_to_stop();

  private:
    void read_signals();
    void take_turns();

    Fd epoll_;
    Fd wakeup_;
    Fd signal_fd_;
    std::map<int, std::shared_ptr<Callback>> callbacks_;
    std::map<int, Callback> signals_;
    std::mutex mutex_;  ///< of posted_ alone
    std::vector<Callback> posted_;
    std::vector<Callback> turns_;
    LatencyHistogram turn_times_;
    bool running_ = false;
    SideThread side_;  ///< the last: it uses the others as long as it runs
};

}  // namespace pktpit::router
