// SPDX-License-Identifier: BSD-3-Clause
// A daemon of a loop thread and a Control that remembers what it was asked, for the API's and the CLI's
// tests.
#pragma once

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "router/api/control.h"
#include "tests/until.h"

namespace pktpit::router::test {

/// Runs closures on its one thread until it ends; pause() holds them back.
class Loop {
  public:
    Loop() : thread_([this] { run(); }) {}
    ~Loop() { finish(); }

    void post(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
        changed_.notify_all();
    }
    void pause(bool paused) {
        const std::lock_guard lock(mutex_);
        paused_ = paused;
        changed_.notify_all();
    }
    /// Waits until `count` closures are queued.
    bool wait_for_queued(size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, pktpit::test::patience, [&] { return queue_.size() >= count; });
    }
    void finish() {
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
            paused_ = false;
            changed_.notify_all();
        }
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return finished_ || (!paused_ && !queue_.empty()); });
            if (queue_.empty()) return;
            auto work = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool paused_ = false;
    bool finished_ = false;
    std::thread thread_;
};

/// An answer of these pieces.
class PieceAnswer final : public LongAnswer {
  public:
    explicit PieceAnswer(std::vector<std::string> pieces, size_t fail_after = 0)
        : pieces_(std::move(pieces)), fail_after_(fail_after) {}
    Piece next() override {
        if (fail_after_ != 0 && at_ == fail_after_) throw std::runtime_error("boom");
        Piece piece{pieces_.at(at_), at_ + 1 == pieces_.size()};
        at_++;
        return piece;
    }

  private:
    std::vector<std::string> pieces_;
    size_t fail_after_;
    size_t at_ = 0;
};

/// Not synchronised on purpose: the thread sanitizer sees any call off the loop thread.
class FakeControl : public Control {
  public:
    std::vector<std::string> calls;
    std::vector<std::thread::id> threads;
    nlohmann::json answer = {{"fake", true}};
    std::optional<RouteQuery> query;
    std::vector<IpAddress> addresses;
    std::optional<config::StaticRoute> route;
    std::optional<ReloadOrder> ordered;
    std::optional<Error> refuse;
    config::Errors refuse_reload;
    bool reload_unchanged = true;
    bool explode = false;
    std::function<void()> at_call;

    nlohmann::json note(const std::string& call) {
        calls.push_back(call);
        threads.push_back(std::this_thread::get_id());
        if (at_call) at_call();
        if (explode) throw std::runtime_error("boom");
        return answer;
    }
    nlohmann::json version() override { return note("version"); }
    nlohmann::json ports() override { return note("ports"); }
    /// There is no VRF "absent".
    static Result<void> known(const std::string& vrf) {
        return vrf == "absent" ? fail(vrf, "no such VRF") : Result<void>();
    }
    Begun routes(const RouteQuery& wanted) override {
        query = wanted;
        if (auto there = known(wanted.vrf); !there) return tl::unexpected(there.error());
        return whole("routes");
    }
    /// `answer`'s, one a piece.
    Begun all_routes(const RouteQuery& wanted) override {
        query = wanted;
        if (auto there = known(wanted.vrf); !there) return tl::unexpected(there.error());
        const nlohmann::json all = note("all_routes");
        std::vector<std::string> pieces;
        for (const auto& one : all.value("routes", nlohmann::json::array()))
            pieces.push_back(one.dump() + "\n");
        const nlohmann::json end{{"total", all.value("total", 0)},
                                 {"next", all.value("next", nlohmann::json())}};
        pieces.push_back(nlohmann::json{{"end", end}}.dump() + "\n");
        return std::make_unique<PieceAnswer>(std::move(pieces), fail_after);
    }
    size_t fail_after = 0;  ///< pieces of all_routes(); 0: never
    Begun routes_summary(const RouteQuery& wanted) override {
        query = wanted;
        return whole("routes_summary");
    }
    nlohmann::json filters() override { return note("filters"); }
    nlohmann::json vrfs() override { return note("vrfs"); }
    std::unique_ptr<LongAnswer> next_hop_groups() override { return whole("next_hop_groups"); }
    std::unique_ptr<LongAnswer> whole(const std::string& call) {
        const std::string text = note(call).dump();
        const size_t half = text.size() / 2;
        return std::make_unique<PieceAnswer>(std::vector{text.substr(0, half), text.substr(half)});
    }
    Result<nlohmann::json> about(const AddressQuery& wanted, const std::string& call) {
        addresses = wanted.addresses;
        query.emplace().vrf = wanted.vrf;
        if (auto there = known(wanted.vrf); !there) return tl::unexpected(there.error());
        return note(call);
    }
    Result<nlohmann::json> route_to(const AddressQuery& wanted) override { return about(wanted, "route_to"); }
    Result<nlohmann::json> lookup(const AddressQuery& wanted) override { return about(wanted, "lookup"); }
    nlohmann::json neighbours() override { return note("neighbours"); }
    nlohmann::json counters() override { return note("counters"); }
    nlohmann::json ignored_routes() override { return note("ignored_routes"); }
    nlohmann::json events(const uint64_t& after) override { return note("events " + std::to_string(after)); }
    nlohmann::json memory() override { return note("memory"); }
    nlohmann::json drift() override { return note("drift"); }
    nlohmann::json fpm() override { return note("fpm"); }
    nlohmann::json aggregation() override { return note("aggregation"); }
    nlohmann::json latency() override { return note("latency"); }
    nlohmann::json workers() override { return note("workers"); }
    nlohmann::json offload() override { return note("offload"); }
    nlohmann::json offload_entries() override { return note("offload_entries"); }
    nlohmann::json running_config() override { return note("config"); }
    struct FakeMetrics final : MetricsReading {
        [[nodiscard]] std::string text() const override { return "fake_metric 1"; }
    };
    std::unique_ptr<MetricsReading> metrics() override {
        note("metrics");
        return std::make_unique<FakeMetrics>();
    }
    Result<std::shared_ptr<ObservationStream>> observe(const ObservationRequest& request) override {
        observed = request;
        note("observe");
        if (refuse) return tl::unexpected(*refuse);
        return stream;
    }
    std::optional<ObservationRequest> observed;
    std::shared_ptr<ObservationStream> stream = std::make_shared<ObservationStream>();
    Result<nlohmann::json> change_route(RouteEdit change, const config::StaticRoute& wanted) override {
        route = wanted;
        const char* const names[] = {"add", "replace", "remove"};
        auto said = note(names[static_cast<int>(change)]);
        if (refuse) return tl::unexpected(*refuse);
        return said;
    }
    tl::expected<nlohmann::json, config::Errors> change_routes(
        RouteEdit change, const std::vector<config::StaticRoute>& wanted) override {
        batch = wanted;
        const char* const names[] = {"add_all", "replace_all", "remove_all"};
        auto said = note(names[static_cast<int>(change)]);
        if (refuse) return tl::unexpected(config::Errors{*refuse});
        return said;
    }
    std::vector<config::StaticRoute> batch;
    // Not on the loop: it is called on a thread of the API's, and not noted in `threads`.
    tl::expected<nlohmann::json, ReloadRefusal> reload(const ReloadOrder& order) override {
        ordered = order;
        calls.emplace_back("reload");
        if (!refuse_reload.empty())
            return tl::unexpected(ReloadRefusal{refuse_reload, reload_unchanged, reload_why});
        return answer;
    }
    Result<nlohmann::json> confirm() override {
        calls.emplace_back("confirm");
        if (refuse) return tl::unexpected(*refuse);
        return answer;
    }
    Result<nlohmann::json> configs(const ConfigsQuery& wanted) override {
        calls.push_back(std::string(wanted.difference ? "diff " : "configs ") +
                        (wanted.back ? std::to_string(*wanted.back) : "-"));
        if (refuse) return tl::unexpected(*refuse);
        return answer;
    }
    ReloadRefusal::Why reload_why = ReloadRefusal::Why::wrong;
};

}  // namespace pktpit::router::test
