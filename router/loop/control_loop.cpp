// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/control_loop.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace pktpit::router {

using offload::HeaderSlice;

namespace {

constexpr size_t usual_header = 14 + 20;  ///< Ethernet, IPv4

}  // namespace

void ControlLoop::observe(PacketObserver* observer) {
    observer_ = observer;
    io_.note_refused(observer ? observer->room_for_refused() : std::span<offload::RefusedPacket>());
}

// While packets wait, a doorbell goes with as many as it may. Who observes sees one batch at a time.
size_t ControlLoop::turn() {
    io_.complete();
    egress_count_ = released_count_ = run_count_ = 0;
    size_t total = 0;
    size_t count = 0;
    do {
        count = take_batch();
        total += count;
    } while (count == batch && total + batch <= most_ && !observer_);
    if (total == 0) return 0;
    if (egress_count_ != 0) {
        io_.submit(std::span(egress_).first(egress_count_));
        note_latency(monotonic_nanoseconds());
    }
    if (observer_) [[unlikely]]
        if (observer_->finished(std::span<const Decision>(decisions_).first(count), io_.take_refused()))
            wake_ = true;
    if (released_count_ != 0) io_.release(std::span(released_).first(released_count_));
    return total;
}

size_t ControlLoop::take_batch() {
    const size_t count = io_.receive(slices_);
    if (count == 0) return 0;
    for (size_t i = 0; i < count; i++) {
        frames_[i].port = slices_[i].port;
        frames_[i].slice = {slices_[i].bytes, slices_[i].length};
        frames_[i].frame_length = slices_[i].frame_length;
        frames_[i].checksum_good = slices_[i].checksum_good;
    }
    {
        const fib::EpochGuard reading(reader_);
        forwarder_.forward(std::span<const IngressFrame>(frames_).first(count),
                           std::span(decisions_).first(count));
    }
    if (observer_) [[unlikely]]
        observer_->decided(std::span<const HeaderSlice>(slices_).first(count),
                           std::span<const Decision>(decisions_).first(count), io_);
    if (destinations_.watching()) note_destinations();
    for (size_t i = 0; i < count; i++)
        finish(slices_[i], decisions_[i]);
    count_received();
    return count;
}

void ControlLoop::note_destinations() {
    std::array<Forwarder::Sighting, batch> sightings;
    const size_t count = forwarder_.looked_up(sightings);
    for (const auto& [frame, destination] : std::span(sightings).first(count))
        if (destinations_.watches(frames_[frame].port)) destinations_.add(destination);
    destinations_.publish();
}

// The clock is read once a batch.
void ControlLoop::note_latency(uint64_t doorbell) {
    for (const Run& run : std::span(runs_).first(run_count_))
        counters_.took(run.port, doorbell - run.since, run.packets);
}

void ControlLoop::finish(HeaderSlice& slice, Decision& decision) {
    if (slice.port != tally_.port) count_received();
    tally_.port = slice.port;
    tally_.packets++;
    tally_.bytes += slice.frame_length;
    if (decision.verdict == PP_FORWARDED && slice.veto != PP_NONE)
        decision.verdict = static_cast<pp_verdict>(slice.veto);
    switch (decision.verdict == PP_FORWARDED ? PP_ACTION_FORWARD : action_of(decision.verdict)) {
        case PP_ACTION_FORWARD:
            forwarded(slice, decision);
            break;
        case PP_ACTION_HOST:
        case PP_ACTION_PUNT:
            decision.verdict = hand_over(slice, decision.verdict);
            [[fallthrough]];
        case PP_ACTION_DROP:
            released_[released_count_++] = slice.slot;
            break;
    }
    if (decision.verdict == PP_FORWARDED)
        tally_.forwarded++;
    else
        counters_.verdict(slice.port, decision.verdict);
}

void ControlLoop::count_received() {
    const Tally tally = std::exchange(tally_, {});
    if (tally.packets == 0) return;
    counters_.received(tally.port, tally.packets, tally.bytes);
    if (tally.forwarded != 0) counters_.verdict(tally.port, PP_FORWARDED, tally.forwarded);
}

// The new header goes where the old one was: in front of what follows it, which stays where it is.
void ControlLoop::forwarded(HeaderSlice& slice, const Decision& decision) {
    uint8_t* begin = slice.bytes + decision.consumed - decision.header_length;
    // Of the usual header the length is told to the compiler: a few moves, no call.
    if (decision.header_length == usual_header)
        std::memcpy(begin, decision.header.data(), usual_header);
    else
        std::memcpy(begin, decision.header.data(), decision.header_length);
    const uint32_t frame_length = slice.frame_length - decision.trailer;
    const uint32_t slice_length = std::min<uint32_t>(slice.length, frame_length);
    const uint32_t kept = slice_length - decision.consumed;
    const auto header_length = static_cast<uint16_t>(decision.header_length + kept);
    if (decision.route_counter != 0)
        counters_.route(decision.route_counter, frame_length - decision.consumed + decision.header_length);
    if (run_count_ == 0 || runs_[run_count_ - 1].since != slice.timestamp ||
        runs_[run_count_ - 1].port != slice.port)
        runs_[run_count_++] = {slice.port, 0, slice.timestamp};
    runs_[run_count_ - 1].packets++;
    // Field by field: put together elsewhere and copied, it would be read wider than it was written, which
    // stalls the CPU.
    offload::EgressDescriptor& out = egress_[egress_count_++];
    out.slot = slice.slot;
    out.port = decision.egress_port;
    out.header_length = header_length;
    out.header = begin;
    out.payload_length = frame_length - slice_length;
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
