// SPDX-License-Identifier: BSD-3-Clause
/// A thread for questions to the kernel that nobody is in a hurry to have answered: while a full table comes
/// or goes, the kernel holds its networking lock for tenths of a second at a time, and whoever asks about a
/// device waits for it. One question after the other. All of it is called by one thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace pktpit::router {

class SideThread {
  public:
    SideThread() = default;
    /// Waits as finish() does.
    ~SideThread();
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

    /// Runs `work` there, soon; what it throws is logged. The thread begins with the first one.
    void run(std::function<void()> work);
    /// Waits until the work under way is done. What has not begun is left out.
    void finish();

  private:
    void loop();

    std::mutex mutex_;  ///< of all below but thread_
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool working_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pktpit::router
