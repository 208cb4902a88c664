// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/slow_path.h"

#include <random>
#include <string_view>

#include "router/slow_path/state.h"

namespace pktpit::router {

namespace {

constexpr std::array<std::string_view, counter_count> counter_names{
#define PKTPIT_COUNTER_NAME(name) #name,
    PKTPIT_SLOW_PATH_COUNTERS(PKTPIT_COUNTER_NAME)
#undef PKTPIT_COUNTER_NAME
};

uint64_t random_seed() {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace

SlowPath::State::State(SlowPathEnvironment& env, const config::Icmp& icmp, uint32_t neighbour_queue,
                       uint32_t neighbours_unresolved)
    : environment(env),
      limiter(icmp, random_seed()),
      path_mtu_limiter(icmp, random_seed()),
      redirects(icmp.redirects),
      redirect_limiter(random_seed()),
      queue(neighbour_queue, neighbours_unresolved),
      identifications(random_seed()) {}

SlowPath::SlowPath(SlowPathEnvironment& environment, const config::Icmp& icmp, uint32_t neighbour_queue,
                   uint32_t neighbours_unresolved)
    : state_(std::make_unique<State>(environment, icmp, neighbour_queue, neighbours_unresolved)) {}

SlowPath::~SlowPath() = default;

void SlowPath::handle(uint16_t ingress_port, pp_verdict /*reason*/, std::span<uint8_t> frame,
                      Clock::time_point now) {
    state_->handle(ingress_port, frame, now, now, false);
}

void SlowPath::redirect(uint16_t port, std::span<uint8_t> copy, Clock::time_point now) {
    state_->redirect(port, copy, now);
}

void SlowPath::send_for_stage(uint16_t egress_port, std::span<const uint8_t> frame) {
    const std::array<Bytes, 1> parts{frame};
    if (state_->transmit(egress_port, parts)) state_->counters.add(Counter::sent_for_stage);
}

void SlowPath::neighbour_resolved(uint16_t interface, const IpAddress& address, Clock::time_point now) {
    std::vector<WaitingPacket> packets = state_->queue.take({interface, address});
    state_->counters.add(Counter::neighbour_released, packets.size());
    state_->release(std::move(packets), now, false);
    state_->request(state_->queue.next_requests(now));
}

void SlowPath::neighbour_failed(uint16_t interface, const IpAddress& address, Clock::time_point now) {
    std::vector<WaitingPacket> packets = state_->queue.take_failed({interface, address});
    state_->counters.add(Counter::neighbour_failed, packets.size());
    state_->release(std::move(packets), now, true);
    state_->request(state_->queue.next_requests(now));
}

void SlowPath::interface_gone(uint16_t interface) {
    state_->counters.add(Counter::neighbour_interface_gone, state_->queue.drop_interface(interface));
}

void SlowPath::tick(Clock::time_point now) {
    NeighbourQueue::Expired expired = state_->queue.take_expired(now);
    state_->counters.add(Counter::neighbour_expired, expired.packets.size() - expired.not_asked);
    state_->counters.add(Counter::neighbour_not_asked, expired.not_asked);
    state_->release(std::move(expired.packets), now, true);
    const NeighbourQueue::Requests due = state_->queue.due_requests(now);
    state_->counters.add(Counter::neighbour_withdrawn, due.withdraw.size());
    // First, since what is asked for takes the room that they leave.
    for (const NeighbourKey& key : due.withdraw)
        state_->environment.withdraw(key.interface, key.next_hop);
    state_->request(due.ask);
}

void SlowPath::set_limits(const config::Icmp& icmp, uint32_t neighbour_queue,
                          uint32_t neighbours_unresolved) {
    state_->limiter.set_limits(icmp);
    state_->path_mtu_limiter.set_limits(icmp);
    state_->redirects = icmp.redirects;
    state_->queue.set_limits(neighbour_queue, neighbours_unresolved);
}

size_t SlowPath::waiting(uint16_t interface, const IpAddress& next_hop) const {
    return state_->queue.waiting({interface, next_hop});
}

std::vector<SlowPath::Waiting> SlowPath::all_waiting() const {
    std::vector<Waiting> result;
    for (const auto& [key, packets] : state_->queue.all_waiting())
        result.push_back({key.interface, key.next_hop, packets});
    return result;
}

size_t SlowPath::waiting_bytes() const {
    return state_->queue.bytes();
}

std::vector<std::pair<std::string, uint64_t>> SlowPath::counters() const {
    std::vector<std::pair<std::string, uint64_t>> result;
    for (size_t counter = 0; counter < counter_count; counter++)
        result.emplace_back(counter_names[counter], state_->counters[static_cast<Counter>(counter)]);
    // What forward() by now sends to the host or drops: its verdict's name, so that both can be read
    // together.
    for (unsigned verdict = 0; verdict < PP_VERDICT_COUNT; verdict++) {
        const pp_action action = action_of(static_cast<pp_verdict>(verdict));
        if (verdict != PP_NONE && (action == PP_ACTION_HOST || action == PP_ACTION_DROP))
            result.emplace_back(std::string("recheck_") + name_of(static_cast<pp_verdict>(verdict)),
                                state_->dropped_by_forward[verdict]);
    }
    return result;
}

}  // namespace pktpit::router
