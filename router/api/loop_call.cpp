// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/loop_call.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace pktpit::router {

// One lock for all calls: there are a handful of workers, and a change of phase is all that happens under it.
struct LoopCall::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
};

namespace {

enum class Phase { waiting, running, finished, abandoned };

struct Job {
    Phase phase = Phase::waiting;
    const std::function<void()>* work = nullptr;  // valid until finished or abandoned: its owner waits
    std::exception_ptr thrown;
};

}  // namespace

LoopCall::LoopCall(Executor executor, std::chrono::milliseconds patience)
    : executor_(std::move(executor)), patience_(patience), shared_(std::make_shared<Shared>()) {}

LoopCall::Outcome LoopCall::run(const std::function<void()>& work) {
    auto job = std::make_shared<Job>();
    job->work = &work;
    {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->stopping) return Outcome::stopping;
    }
    executor_([job, shared = shared_] {
        {
            const std::lock_guard lock(shared->mutex);
            if (job->phase != Phase::waiting || shared->stopping) return;
            job->phase = Phase::running;
        }
        std::exception_ptr thrown;
        try {
            (*job->work)();
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(shared->mutex);
        job->thrown = std::move(thrown);
        job->phase = Phase::finished;
        shared->changed.notify_all();
    });

    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, patience_,
                              [&] { return job->phase != Phase::waiting || shared_->stopping; });
    if (job->phase == Phase::waiting) {
        job->phase = Phase::abandoned;
        return shared_->stopping ? Outcome::stopping : Outcome::busy;
    }
    shared_->changed.wait(lock, [&] { return job->phase == Phase::finished; });
    // Out of the job, so that the loop thread does not share the exception's last reference.
    if (const std::exception_ptr thrown = std::exchange(job->thrown, nullptr)) {
        lock.unlock();
        std::rethrow_exception(thrown);
    }
    return Outcome::done;
}

void LoopCall::stop() {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
}

}  // namespace pktpit::router
