#include "router/loop/control_loop.h"

#include <chrono>
#include <cstring>

namespace pktpit::router {

using offload::HeaderSlice;

namespace {

// As HeaderSlice::timestamp: CLOCK_MONOTONIC.
uint64_t now_nanoseconds() {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

size_t ControlLoop::turn() {
    io_.complete();
    const size_t count = io_.receive(slices_);
    if (count == 0) return 0;
    egress_count_ = released_count_ = run_count_ = 0;
    for (size_t i = 0; i < count; i++)
        frames_[i] = {slices_[i].port, {slices_[i].bytes, slices_[i].length}, slices_[i].frame_length};
    {
        const fib::EpochGuard reading(reader_);
        forwarder_.forward(std::span<const IngressFrame>(frames_).first(count),
                           std::span(decisions_).first(count));
    }
    for (size_t i = 0; i < count; i++)
        finish(slices_[i], decisions_[i]);
    if (egress_count_ != 0) {
        io_.submit(std::span(egress_).first(egress_count_));
        note_latency();
    }
    if (released_count_ != 0) io_.release(std::span(released_).first(released_count_));
    return count;
}

// The clock is read once a batch.
void ControlLoop::note_latency() {
    const uint64_t doorbell = now_nanoseconds();
    for (const Run& run : std::span(runs_).first(run_count_))
        counters_.took(run.port, doorbell - run.since, run.packets);
}

void ControlLoop::finish(HeaderSlice& slice, const Decision& decision) {
    counters_.received(slice.port, 1, slice.frame_length);
    pp_verdict verdict = decision.verdict;
    if (verdict == PP_FORWARDED && slice.veto != PP_NONE) verdict = static_cast<pp_verdict>(slice.veto);
    switch (action_of(verdict)) {
        case PP_ACTION_FORWARD:
            forwarded(slice, decision);
            break;
        case PP_ACTION_HOST:
        case PP_ACTION_PUNT:
            verdict = hand_over(slice, verdict);
            [[fallthrough]];
        case PP_ACTION_DROP:
            released_[released_count_++] = slice.slot;
            break;
    }
    counters_.verdict(slice.port, verdict);
}

// The new header goes where the old one was: in front of what follows it, which stays where it is.
void ControlLoop::forwarded(HeaderSlice& slice, const Decision& decision) {
    uint8_t* begin = slice.bytes + decision.consumed - decision.header_length;
    std::memcpy(begin, decision.header.data(), decision.header_length);
    const auto kept = static_cast<uint16_t>(slice.length - decision.consumed);
    const auto header_length = static_cast<uint16_t>(decision.header_length + kept);
    if (decision.route_counter != 0)
        counters_.route(decision.route_counter,
                        slice.frame_length - decision.consumed + decision.header_length);
    if (run_count_ == 0 || runs_[run_count_ - 1].since != slice.timestamp ||
        runs_[run_count_ - 1].port != slice.port)
        runs_[run_count_++] = {slice.port, 0, slice.timestamp};
    runs_[run_count_ - 1].packets++;
    egress_[egress_count_++] = {slice.slot, decision.egress_port, header_length, begin,
                                slice.frame_length - slice.length};
}

pp_verdict ControlLoop::hand_over(const HeaderSlice& slice, pp_verdict verdict) {
    const pp_punt head{slice.port, static_cast<uint8_t>(verdict), 0, slice.frame_length};
    const auto frame = for_daemon_.reserve(head);
    if (frame.empty()) return PP_DROP_PUNT_FULL;
    if (!io_.copy_frame(slice, frame)) return PP_DROP_MEMORY_REVOKED;
    for_daemon_.publish();
    wake_ = true;
    return verdict;
}

}  // namespace pktpit::router
