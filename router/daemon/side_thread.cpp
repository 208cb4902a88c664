// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/side_thread.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <utility>

namespace pktpit::router {

SideThread::~SideThread() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void SideThread::run(std::function<void()> work) {
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
}

void SideThread::finish() {
    std::unique_lock lock(mutex_);
    waiting_.clear();
    changed_.wait(lock, [this] { return !working_; });
}

void SideThread::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        const auto work = std::move(waiting_.front());
        waiting_.pop_front();
        working_ = true;
        lock.unlock();
        try {
            work();
        } catch (const std::exception& error) {
            spdlog::error("a question to the kernel failed: {}", error.what());
        }
        lock.lock();
        working_ = false;
        changed_.notify_all();
    }
}

}  // namespace pktpit::router
