// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/observations.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "router/daemon/capture_observer.h"
#include "router/daemon/trace_observer.h"
#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

/// A rewritten header is up to eight bytes longer: then the frame as it came in is still whole up to the
/// snaplen.
constexpr uint32_t most_growth = 8;
constexpr size_t shown_bytes = PP_SLICE_BYTES;  ///< of a frame that the slow path has sent

uint64_t nanoseconds_of(auto clock_now) {
    return static_cast<uint64_t>(std::chrono::nanoseconds(clock_now.time_since_epoch()).count());
}

uint8_t points_of(const ObservationRequest& request) {
    if (!request.trace && !request.points.contains(CapturePoint::ingress)) {
        unsigned points = 0;
        if (request.points.contains(CapturePoint::egress)) points |= PP_POINT_EGRESS;
        if (request.points.contains(CapturePoint::drop)) points |= PP_POINT_DROP;
        return static_cast<uint8_t>(points);
    }
    if (request.verdicts.empty()) return PP_POINT_EGRESS | PP_POINT_DROP | PP_POINT_OTHER;
    unsigned points = 0;
    for (const pp_verdict verdict : request.verdicts) {
        const pp_action action = action_of(verdict);
        points |= action == PP_ACTION_FORWARD ? PP_POINT_EGRESS
                  : action == PP_ACTION_DROP  ? PP_POINT_DROP
                                              : PP_POINT_OTHER;
    }
    return static_cast<uint8_t>(points);
}

/// What leaves by a port has come in by any.
bool is_for_all_ports(const ObservationRequest& request) {
    return request.port.empty() || (!request.trace && request.points.contains(CapturePoint::egress));
}

}  // namespace

Observations::Observations(Dataplane& dataplane, const Routing& routing, const Ports& ports,
                           SlowPath& slow_path, DaemonEnvironment& environment)
    : dataplane_(dataplane),
      routing_(routing),
      ports_(ports),
      slow_path_(slow_path),
      environment_(environment) {}

Observations::~Observations() {
    for (const auto& observer : observers_)
        observer->end();
    if (asked_) (void)dataplane_.observe(std::nullopt, {});
}

bool Observations::is_sampling() const {
    return sampler_ && sampler_->is_on() &&
           std::ranges::any_of(sampler_->ports(), [](const auto& one) { return one.second.one_in != 0; });
}

Result<void> Observations::sample(SflowExporter& sampler) {
    sampler_ = &sampler;
    return asked_ || is_observing() ? update() : Result<void>();
}

std::string Observations::port_name(uint16_t port) const {
    for (const auto& [name, known] : ports_.all())
        if (!known.config.parent && known.port == port) return name;
    return {};
}

uint64_t Observations::lost(uint16_t port) const {
    return dataplane_.lost_observations(port);
}

bool Observations::is_tracing() const {
    return std::ranges::any_of(observers_, [](const auto& observer) { return observer->request().trace; });
}

// Whoever wants less takes some of what comes.
uint32_t Observations::least_one_in() const {
    uint32_t one_in = UINT32_MAX;
    for (const auto& observer : observers_)
        one_in = std::min(one_in, observer->request().one_in);
    if (is_sampling())
        for (const auto& [id, port] : sampler_->ports())
            if (port.one_in != 0) one_in = std::min(one_in, port.one_in);
    return one_in == UINT32_MAX ? 1 : one_in;
}

pp_observing Observations::wanted() const {
    pp_observing wanted{};
    for (const auto& observer : observers_) {
        const ObservationRequest& request = observer->request();
        wanted.snaplen =
            std::max(wanted.snaplen, std::min<uint32_t>(request.snaplen + most_growth, PP_OBSERVED_BYTES));
        for (uint16_t port = 1; port < PP_MAX_PORTS; port++)
            if (is_for_all_ports(request) || port_name(port) == request.port)
                wanted.points[port] |= points_of(request);
    }
    if (is_sampling())
        for (const auto& [id, port] : sampler_->ports()) {
            if (port.one_in == 0) continue;
            wanted.snaplen = std::max(wanted.snaplen, sampler_->header_bytes() + most_growth);
            wanted.points[id] = PP_POINT_EGRESS | PP_POINT_DROP | PP_POINT_OTHER;
        }
    wanted.threshold = UINT32_MAX / least_one_in();
    return wanted;
}

Result<void> Observations::update() {
    std::optional<pp_observing> sum;
    if (is_observing()) sum = wanted();
    one_in_ = least_one_in();
    auto done = dataplane_.observe(sum, [this](std::span<const uint8_t> bytes) { record(bytes); });
    asked_ = done && sum;
    return done;
}

Result<std::shared_ptr<ObservationStream>> Observations::begin(const ObservationRequest& request) {
    if (observers_.size() >= most)
        return fail("", "packets are observed by " + std::to_string(observers_.size()) + " clients already",
                    "at most " + std::to_string(most), "end one of them");
    const auto port = ports_.all().find(request.port);
    if (!request.port.empty() && (port == ports_.all().end() || port->second.config.parent))
        return fail("?port", "no port \"" + request.port + "\"", "a port of `pktpit show ports`");
    clock_offset_ =
        nanoseconds_of(std::chrono::system_clock::now()) - nanoseconds_of(std::chrono::steady_clock::now());
    std::unique_ptr<Observer> observer;
    if (request.trace)
        observer = std::make_unique<TraceObserver>(request, *this, routing_);
    else
        observer = std::make_unique<CaptureObserver>(request, *this);
    auto stream = observer->stream();
    observers_.push_back(std::move(observer));
    if (auto updated = update(); !updated) {
        observers_.pop_back();
        if (is_observing()) (void)update();
        return tl::unexpected(updated.error());
    }
    spdlog::info("packets are observed: {} by {} client{}", request.trace ? "trace" : "capture",
                 observers_.size(), observers_.size() == 1 ? "" : "s");
    return stream;
}

void Observations::ports_changed() {
    if (is_observing()) (void)update();
}

void Observations::tick() {
    if (!is_observing()) return;
    dataplane_.poll();  // what has been written down before an observer's end is in it
    const auto now = std::chrono::steady_clock::now();
    for (const auto& observer : observers_)
        observer->tick(now);
    if (std::erase_if(observers_, [](const auto& observer) { return observer->is_done(); }) == 0) return;
    if (auto updated = update(); !updated)
        spdlog::error("observation goes on where it should not: {}", updated.error().to_string());
    if (observers_.empty()) spdlog::info("packets are observed no more");
}

void Observations::record(std::span<const uint8_t> bytes) {
    const auto seen = parse_observation(bytes);
    if (!seen) {
        if (malformed_++ == 0) spdlog::warn("a record of an observed packet does not parse");
        return;
    }
    for (const auto& observer : observers_)
        observer->packet(*seen);
    if (sampler_) sampler_->observe(*seen, one_in_);
}

SlowPathWork Observations::watch(const std::function<void()>& work) {
    SlowPathWork done;
    const auto before = slow_path_.counters();
    environment_.on_transmit([&](uint16_t port, std::span<const std::span<const uint8_t>> parts) {
        SlowPathWork::Sent sent{port, 0, {}};
        for (const auto& part : parts) {
            sent.length += static_cast<uint32_t>(part.size());
            const size_t room = shown_bytes - sent.begin.size();
            sent.begin.insert(sent.begin.end(), part.begin(),
                              part.begin() + static_cast<std::ptrdiff_t>(std::min(part.size(), room)));
        }
        done.sent.push_back(std::move(sent));
    });
    work();
    environment_.on_transmit({});
    const auto after = slow_path_.counters();
    for (size_t i = 0; i < after.size() && i < before.size(); i++)
        if (after[i].second != before[i].second)
            done.steps[after[i].first] = after[i].second - before[i].second;
    return done;
}

void Observations::handle(const pp_punt& punt, std::span<uint8_t> frame) {
    const auto handle_frame = [&] {
        slow_path_.handle(punt.port, static_cast<pp_verdict>(punt.verdict), frame, Clock::now());
    };
    if (!is_tracing()) return handle_frame();
    // It may be changed in place.
    const std::vector<uint8_t> begin(
        frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(std::min(frame.size(), shown_bytes)));
    const SlowPathWork done = watch(handle_frame);
    for (const auto& observer : observers_)
        observer->slow_path(punt.port, static_cast<uint32_t>(frame.size()), begin, done);
}

void Observations::follow(const std::string& event, const std::function<void()>& work) {
    if (!is_tracing()) return work();
    const SlowPathWork done = watch(work);
    if (done.steps.empty() && done.sent.empty()) return;
    for (const auto& observer : observers_)
        observer->slow_path_later(event, done);
}

}  // namespace pktpit::router
