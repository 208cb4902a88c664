// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/trace_observer.h"

#include <algorithm>

#include "router/daemon/trace_json.h"
#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

using nlohmann::json;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds patience{500};
constexpr size_t most_halves = 1024;

// Punted frames come by another ring than records, so either may be first. Both are in order.
std::string key_of(uint16_t port, uint32_t length, std::span<const uint8_t> begin) {
    begin = begin.first(std::min<size_t>(begin.size(), PP_SLICE_BYTES));
    std::string key(reinterpret_cast<const char*>(&port), sizeof port);
    key.append(reinterpret_cast<const char*>(&length), sizeof length);
    return key.append(reinterpret_cast<const char*>(begin.data()), begin.size());
}

std::string line_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

void TraceObserver::show(const Observation& seen) {
    const std::string name = environment().port_name(seen.port);
    if (name.empty() || (!request().port.empty() && request().port != name)) return;
    if (!request().verdicts.empty() && !request().verdicts.contains(seen.verdict)) return;
    const std::vector<uint8_t> frame = seen.ingress(PP_SLICE_BYTES);
    if (has_enough(punted_.size()) || !wants(frame, seen.frame_length)) return;
    json packet = trace_packet(seen, frame, routing_, environment());
    if (action_of(seen.verdict) != PP_ACTION_PUNT) return print(seen.port, packet);

    const std::string key = key_of(seen.port, seen.frame_length, frame);
    if (const auto known = std::ranges::find(handled_, key, &Half::key); known != handled_.end()) {
        packet["slow_path"] = std::move(known->json);
        handled_.erase(known);
        return print(seen.port, packet);
    }
    punted_.push_back({key, seen.port, std::move(packet), Steady::now()});
}

void TraceObserver::slow_path(uint16_t port, uint32_t length, std::span<const uint8_t> begin,
                              const SlowPathWork& work) {
    if (is_done()) return;
    json done = trace_slow_path(work, environment());
    const std::string key = key_of(port, length, begin);
    const auto known = std::ranges::find(punted_, key, &Half::key);
    if (known == punted_.end()) {
        if (handled_.size() == most_halves) handled_.pop_front();
        handled_.push_back({key, port, std::move(done), Steady::now()});
        return;
    }
    json packet = std::move(known->json);
    punted_.erase(known);
    packet["slow_path"] = std::move(done);
    print(port, packet);
    end_if_enough();
}

void TraceObserver::slow_path_later(const std::string& event, const SlowPathWork& work) {
    if (is_done()) return;
    const bool wanted =
        std::ranges::any_of(work.sent, [&](const auto& sent) { return wants(sent.begin, sent.length); });
    if (request().filter && !wanted) return;
    // Neither a packet nor counted as one.
    (void)stream()->push(line_of({{"event", event}, {"slow_path", trace_slow_path(work, environment())}}));
}

void TraceObserver::print(uint16_t port, json& packet) {
    packet["packet"] = delivered() + 1;
    deliver(port, line_of(packet));
}

void TraceObserver::tick(Time now) {
    while (!handled_.empty() && now - handled_.front().since > patience)
        handled_.pop_front();
    while (!punted_.empty() && now - punted_.front().since > patience) {
        Half half = std::move(punted_.front());
        punted_.pop_front();
        print(half.port, half.json);
    }
    Observer::tick(now);
}

std::string TraceObserver::last_words() const {
    uint64_t all = 0;
    for (uint16_t port = 1; port < PP_MAX_PORTS; port++)
        all += lost(port);
    return line_of({{"end", {{"packets", delivered()}, {"lost", all}}}});
}

}  // namespace pktpit::router
