// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/observer.h"

#include <utility>

namespace pktpit::router {

Observer::Observer(ObservationRequest request, const ObserverEnvironment& environment)
    : request_(std::move(request)), environment_(environment) {
    if (request_.duration) deadline_ = std::chrono::steady_clock::now() + *request_.duration;
    for (uint16_t port = 1; port < PP_MAX_PORTS; port++)
        lost_before_[port] = environment_.lost(port);
}

void Observer::packet(const Observation& seen) {
    if (done_ || !is_sampled()) return;
    show(seen);
    end_if_enough();
}

// Where another observer wants more of the packets than this one.
bool Observer::is_sampled() {
    const uint32_t taken = environment_.one_in();
    if (request_.one_in <= taken) return true;
    return std::uniform_int_distribution<uint64_t>(0, request_.one_in - 1)(random_) < taken;
}

void Observer::end_if_enough() {
    if (has_enough() && is_empty()) end();
}

void Observer::deliver(uint16_t port, std::string_view bytes) {
    if (done_ || has_enough()) return;
    if (stream_->push(bytes))
        delivered_++;
    else
        not_taken_[port]++;
}

uint64_t Observer::lost(uint16_t port) const {
    return environment_.lost(port) - lost_before_[port] + not_taken_[port];
}

void Observer::tick(std::chrono::steady_clock::time_point now) {
    if (done_) return;
    const bool over = deadline_ && now >= *deadline_;
    if (over || stream_->is_ended_by_client()) end();
    end_if_enough();
}

void Observer::end() {
    if (std::exchange(done_, true)) return;
    stream_->end(last_words());
}

}  // namespace pktpit::router
