// SPDX-License-Identifier: BSD-3-Clause
// Configurations that were applied: kept, confirmed, gone back to.
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <utility>

#include "router/daemon/daemon.h"

namespace pktpit::router {

using nlohmann::json;

// From now on, whatever the disk takes for it: who is cut off by what has been applied is waited for no
// longer than he said.
void Daemon::wait_for_confirmation(const Prepared& applied) {
    // A signal is nobody who has seen that the router is still reached: what waits goes on waiting.
    const bool goes_on = applied.by_signal && confirm_until_;
    *until_confirmed_ = applied.confirm_s || goes_on;
    if (goes_on) return;
    confirm_until_.reset();
    back_to_.reset();
    confirm_by_ = 0;
    if (!applied.confirm_s) return;
    const std::chrono::seconds within(*applied.confirm_s);
    confirm_until_ = std::chrono::steady_clock::now() + within;
    const auto by = std::chrono::system_clock::now() + within;
    confirm_by_ = std::chrono::duration_cast<std::chrono::seconds>(by.time_since_epoch()).count();
    spdlog::warn("the configuration goes back to the one before unless it is confirmed within {} s",
                 *applied.confirm_s);
    control_->events().add(EventKind::reload,
                           "waits to be confirmed within " + std::to_string(*applied.confirm_s) + " s");
}

void Daemon::kept(const Result<std::optional<uint64_t>>& back_to, bool waits) {
    if (back_to) {
        back_to_ = *back_to;
        return;
    }
    spdlog::warn("this configuration cannot be gone back to later: {}", back_to.error().to_string());
    if (waits) spdlog::error("and it stays without being confirmed");
    confirm_until_.reset();
    confirm_by_ = 0;
}

void Daemon::go_back_if_due() {
    constexpr std::chrono::seconds until_next_try{10};
    // Not before it is known to what: that is being written still, or kept() is about to say that it cannot.
    if (!confirm_until_ || !back_to_ || std::chrono::steady_clock::now() < *confirm_until_) return;
    confirm_until_ = std::chrono::steady_clock::now() + until_next_try;  // for as long as it fails
    spdlog::warn("nobody confirmed the configuration: going back to number {}", *back_to_);
    control_->events().add(EventKind::reload, "not confirmed: goes back to the configuration before");
    ReloadOrder order;
    order.number = back_to_;
    reloads_->reload_soon([] {}, order);
}

// On a thread of the API's: what it writes may have 20 MiB. It waits no longer from the first step on, and
// again if the second fails.
Result<json> Daemon::confirm() {
    std::optional<std::chrono::steady_clock::time_point> until;
    int64_t by = 0;
    const auto on_loop = [this](const std::function<void()>& work) {
        return on_loop_.run(work) == LoopCall::Outcome::done;
    };
    const auto busy = [] { return fail("", "the daemon is busy, or stopping", "", "try again"); };
    if (!on_loop([&] {
            until = std::exchange(confirm_until_, std::nullopt);
            by = confirm_by_.exchange(0);
        }))
        return busy();
    if (!until)
        return fail("", "no configuration waits to be confirmed", "one by `pktpit commit --confirm SECONDS`",
                    "it may have gone back already: pktpit show events");
    const auto done = saved_files_->confirmed();
    json answer;
    if (!on_loop([&] {
            if (!done) {
                confirm_until_ = until;
                confirm_by_ = by;
                return;
            }
            spdlog::info("the configuration is confirmed");
            control_->events().add(EventKind::reload, "confirmed");
            answer = {{"confirmed", true}, {"generation", control_->generation()}};
        }))
        return busy();
    if (!done) return tl::unexpected(done.error());
    return answer;
}

// On a thread of the API's: what it reads may be a megabyte a configuration.
Result<json> Daemon::configs(const ConfigsQuery& query) {
    const auto state = saved_files_->load();
    if (!state) return tl::unexpected(state.error());
    if (!query.back) {
        json list = json::array();
        for (size_t back = 0; const SavedConfig* one = state->back(back); back++)
            list.push_back({{"back", back},
                            {"number", one->number},
                            {"time", one->time},
                            {"file", one->file},
                            {"kept", !one->text.empty()},
                            {"confirmed", back != 0 || !state->confirmed}});
        const int64_t by = confirm_by_;
        return json{{"configs", std::move(list)}, {"confirm_by", by ? json(by) : json()}};
    }
    const SavedConfig* one = state->back(*query.back);
    const SavedConfig* newest = state->back(0);
    if (!one || one->text.empty() || (query.difference && newest->text.empty()))
        return fail("?back", "no such configuration is kept",
                    "0 to " + std::to_string(state->configs.empty() ? 0 : state->configs.size() - 1),
                    "pktpit show configs");
    json body{{"back", *query.back}, {"number", one->number}, {"time", one->time}, {"file", one->file}};
    if (!query.difference) {
        body["text"] = one->text;
        return body;
    }
    const auto from = config::load(one->file, one->text, {});
    const auto to = config::load(newest->file, newest->text, {});
    if (!from || !to) {
        const Error& error = (from ? to : from).error().front();
        return fail(error.where, error.message, error.expected, "a file that it names may have gone");
    }
    body["changes"] = config::describe_difference(*from, *to);
    return body;
}

}  // namespace pktpit::router
