// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/reloads.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace pktpit::router {
namespace {

constexpr std::chrono::milliseconds farewell{500};

tl::unexpected<ReloadRefusal> told(std::string message) {
    return tl::unexpected(ReloadRefusal{
        {{"", std::move(message), "", "nothing was changed; try again"}}, true, ReloadRefusal::Why::busy});
}

/// Nobody waits for the answer.
void log_bug(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        spdlog::critical("reload failed by a bug in the daemon ({}); forwarding goes on as before",
                         error.what());
    }
}

}  // namespace

struct Reloads::Job {
    enum class Phase { waiting, running, applied, finished, abandoned };
    ReloadOrder order;
    std::function<void()> done;  ///< empty: somebody waits for the answer
    Phase phase = Phase::waiting;
    std::optional<Answer> answer;
    std::exception_ptr thrown;
};

struct Reloads::Shared {
    Steps steps;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Job>> waiting;
    bool stopping = false;
    bool ended = false;

    void add(std::shared_ptr<Job> job) {
        waiting.push_back(std::move(job));
        changed.notify_all();
    }
    void finish(Job& job, Answer answer) {
        job.answer.emplace(std::move(answer));
        finish(job);
    }
    void finish(Job& job) {
        job.phase = Job::Phase::finished;
        changed.notify_all();
    }
    /// On the thread of the reloads: what is done about a job that has been applied. It is finished on the
    /// loop.
    void keep(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Job>& job,
              const Prepared& prepared) const {
        std::function<void()> told;
        try {
            told = steps.keep(prepared);
        } catch (...) {
            log_bug(std::current_exception());
        }
        steps.post([shared, job, told = std::move(told)] {
            {
                const std::lock_guard still(shared->mutex);
                if (shared->stopping) return;
            }
            if (told) told();
            {
                const std::lock_guard finished(shared->mutex);
                shared->finish(*job);
            }
            if (job->done) job->done();
        });
    }
};

Reloads::Reloads(Steps steps) : shared_(std::make_shared<Shared>()) {
    shared_->steps = std::move(steps);
    thread_ = std::thread([shared = shared_] { run(shared); });
}

Reloads::~Reloads() {
    (void)stop();
}

void Reloads::run(const std::shared_ptr<Shared>& shared) {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->changed.wait(lock, [&] { return shared->stopping || !shared->waiting.empty(); });
        if (shared->stopping) break;
        const auto job = std::move(shared->waiting.front());
        shared->waiting.pop_front();
        if (job->phase == Job::Phase::abandoned) continue;
        job->phase = Job::Phase::running;
        lock.unlock();
        std::shared_ptr<Prepared> prepared;
        std::optional<ReloadRefusal> refusal;
        std::exception_ptr thrown;
        try {
            auto result = shared->steps.prepare(job->order);
            if (result)
                prepared = std::make_shared<Prepared>(std::move(*result));
            else
                refusal = std::move(result.error());
        } catch (...) {
            thrown = std::current_exception();
        }
        lock.lock();
        if (shared->stopping) break;
        // On the loop, whatever came of it: there the one who ordered it by a signal is told, too.
        lock.unlock();
        shared->steps.post(
            [shared, job, prepared = prepared, refusal = std::move(refusal), thrown]() mutable {
                {
                    const std::lock_guard still(shared->mutex);
                    if (shared->stopping) return;
                }
                std::optional<Answer> answer;
                try {
                    if (thrown) std::rethrow_exception(thrown);
                    answer = prepared ? shared->steps.apply(*prepared, job->order.dry_run)
                                      : Answer(tl::unexpected(std::move(*refusal)));
                } catch (...) {
                    thrown = std::current_exception();
                    answer = told("the daemon has a bug");
                    if (job->done) log_bug(thrown);
                }
                prepared.reset();
                const bool keeps = shared->steps.keep && !thrown && *answer && !job->order.dry_run;
                {
                    const std::lock_guard finished(shared->mutex);
                    job->thrown = thrown;
                    if (keeps) {
                        job->answer = std::move(answer);
                        job->phase = Job::Phase::applied;
                        shared->changed.notify_all();
                        return;
                    }
                    shared->finish(*job, std::move(*answer));
                }
                if (job->done) job->done();
            });
        lock.lock();
        shared->changed.wait(lock, [&] { return shared->stopping || job->phase >= Job::Phase::applied; });
        if (job->phase == Job::Phase::applied) {  // also by a daemon that is stopping
            lock.unlock();
            shared->keep(shared, job, *prepared);
            lock.lock();
            shared->changed.wait(lock,
                                 [&] { return shared->stopping || job->phase == Job::Phase::finished; });
        }
        if (shared->stopping) break;
    }
    shared->ended = true;
    shared->changed.notify_all();
}

Reloads::Answer Reloads::reload(const ReloadOrder& order) {
    auto job = std::make_shared<Job>();
    job->order = order;
    std::unique_lock lock(shared_->mutex);
    if (!shared_->stopping) shared_->add(job);
    shared_->changed.wait_for(lock, shared_->steps.patience,
                              [&] { return shared_->stopping || job->phase != Job::Phase::waiting; });
    if (job->phase == Job::Phase::waiting) {
        job->phase = Job::Phase::abandoned;
        return told(shared_->stopping ? "the daemon is stopping" : "another reload is under way");
    }
    shared_->changed.wait(lock, [&] { return shared_->stopping || job->phase == Job::Phase::finished; });
    if (job->phase < Job::Phase::applied) return told("the daemon is stopping");
    if (job->thrown) {
        const auto thrown = std::exchange(job->thrown, nullptr);
        lock.unlock();
        std::rethrow_exception(thrown);
    }
    return std::move(*job->answer);
}

void Reloads::reload_soon(std::function<void()> done, const ReloadOrder& order) {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->stopping) return;
    for (const auto& waiting : shared_->waiting)
        if (waiting->done && waiting->order.number == order.number) return;
    auto job = std::make_shared<Job>();
    job->order = order;
    job->done = std::move(done);
    shared_->add(std::move(job));
}

bool Reloads::stop() {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
    if (!thread_.joinable()) return shared_->ended;
    const bool ended = shared_->changed.wait_for(lock, farewell, [&] { return shared_->ended; });
    lock.unlock();
    if (ended)
        thread_.join();
    else
        thread_.detach();
    return ended;
}

}  // namespace pktpit::router
