// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/control_loop.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"

namespace pktpit::router {

using offload::HeaderSlice;

namespace {

uint64_t bits_of(const IngressRun& run) {
    return ~uint64_t{0} >> (ControlLoop::batch - run.count) << run.first;
}

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
    } while (count == batch && total + batch <= most_ && !observer_ && !in_place_);
    if (total == 0) return 0;
    if (run_count_ != 0) {
        const std::span<const offload::EgressDescriptor> leaving = std::span(egress_).first(egress_count_);
        if (in_place_)
            in_place_->submit(batch_, plain_, leaving);
        else
            io_.submit(leaving);
        note_latency(monotonic_nanoseconds());
    }
    if (observer_) [[unlikely]]
        if (observer_->finished(std::span<const Decision>(decisions_).first(count), io_.take_refused()))
            wake_ = true;
    if (released_count_ != 0) io_.release(std::span(released_).first(released_count_));
    return total;
}

size_t ControlLoop::take_batch() {
    const auto runs = in_place_ ? in_place_->receive(batch_) : line_up(io_.receive(slices_));
    if (runs.empty()) return 0;
    const size_t count = size_t{runs.back().first} + runs.back().count;
    const uint64_t all = ~uint64_t{0} >> (batch - count);
    other_count_ = 0;
    {
        const fib::EpochGuard reading(reader_);
        plain_ = observer_ ? 0 : plain_forwarder_.forward(batch_, runs);
        if (plain_ != all) decide(all & ~plain_);
    }
    if (observer_) [[unlikely]]
        observer_->decided(std::span<const HeaderSlice>(slices_).first(count),
                           std::span<const Decision>(decisions_).first(count), io_);
    if (destinations_.watching()) note_destinations(runs);
    finish(runs);
    return count;
}

std::span<const IngressRun> ControlLoop::line_up(size_t count) {
    batch_.clear();
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const HeaderSlice& slice = slices_[i];
        batch_.put(i, slice.bytes, slice.veto == PP_NONE ? slice.length : uint16_t{0}, slice.frame_length,
                   slice.checksum_good);
        if (runs == 0 || ingress_runs_[runs - 1].port != slice.port ||
            ingress_runs_[runs - 1].since != slice.timestamp)
            ingress_runs_[runs++] = {slice.port, static_cast<uint16_t>(i), 0, 0, slice.timestamp};
        ingress_runs_[runs - 1].count++;
        ingress_runs_[runs - 1].bytes += slice.frame_length;
    }
    return std::span(ingress_runs_).first(runs);
}

void ControlLoop::decide(uint64_t which) {
    if (in_place_) in_place_->slice(which, slices_);
    for (; which != 0; which &= which - 1) {
        const auto index = static_cast<uint8_t>(std::countr_zero(which));
        const HeaderSlice& slice = slices_[index];
        IngressFrame& frame = frames_[other_count_];
        frame.port = slice.port;
        frame.slice = {slice.bytes, slice.length};
        frame.frame_length = slice.frame_length;
        frame.checksum_good = slice.checksum_good;
        others_[other_count_++] = index;
    }
    forwarder_.forward(std::span<const IngressFrame>(frames_).first(other_count_),
                       std::span(decisions_).first(other_count_));
}

void ControlLoop::note_destinations(std::span<const IngressRun> runs) {
    for (const IngressRun& run : runs) {
        if (!destinations_.watches(run.port)) continue;
        for (uint64_t left = plain_ & bits_of(run); left != 0; left &= left - 1)
            destinations_.add(batch_.destination(static_cast<size_t>(std::countr_zero(left))));
    }
    if (other_count_ != 0) {
        std::array<Forwarder::Sighting, batch> sightings;
        const size_t count = forwarder_.looked_up(sightings);
        for (const auto& [frame, destination] : std::span(sightings).first(count))
            if (destinations_.watches(frames_[frame].port)) destinations_.add(destination);
    }
    destinations_.publish();
}

// The clock is read once a batch.
void ControlLoop::note_latency(uint64_t doorbell) {
    for (const Run& run : std::span(runs_).first(run_count_))
        counters_.took(run.port, doorbell - run.since, run.packets);
}

void ControlLoop::finish(std::span<const IngressRun> runs) {
    size_t other = 0;
    for (const IngressRun& run : runs) {
        counters_.received(run.port, run.count, run.bytes);
        uint32_t leaving = 0;
        const size_t end = size_t{run.first} + run.count;
        if (in_place_) {
            for (; other < other_count_ && others_[other] < end; other++)
                leaving += finish(slices_[others_[other]], decisions_[other]) ? 1 : 0;
        } else {
            for (size_t index = run.first; index < end; index++) {
                if ((plain_ >> index & 1) != 0)
                    leave(index);
                else
                    leaving += finish(slices_[index], decisions_[other++]) ? 1 : 0;
            }
        }
        leaving += static_cast<uint32_t>(std::popcount(plain_ & bits_of(run)));
        if (wants_returning_.load(std::memory_order_relaxed)) look_for_returning(run);
        if (leaving == 0) continue;
        counters_.verdict(run.port, PP_FORWARDED, leaving);
        runs_[run_count_++] = {run.port, leaving, run.since};
    }
    for (uint64_t left = plain_ & plain_forwarder_.counted(); left != 0; left &= left - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(left));
        counters_.route(batch_.route_counter(index), batch_.frame_length(index));
    }
}

bool ControlLoop::finish(HeaderSlice& slice, Decision& decision) {
    if (decision.filter_in != 0) [[unlikely]]
        counters_.filter(decision.filter_in, slice.frame_length);
    if (decision.filter_out != 0) [[unlikely]]
        counters_.filter(decision.filter_out, slice.frame_length);
    if (decision.verdict == PP_FORWARDED && slice.veto != PP_NONE)
        decision.verdict = static_cast<pp_verdict>(slice.veto);
    if (pp_guard* guard = forwarder_.guard()) [[unlikely]]
        police(*guard, slice, decision);
    switch (decision.verdict == PP_FORWARDED ? PP_ACTION_FORWARD : action_of(decision.verdict)) {
        case PP_ACTION_FORWARD:
            if (decision.egress_interface == decision.ingress_interface) [[unlikely]]
                if (wants_returning_.load(std::memory_order_relaxed)) copy(slice);
            forwarded(slice, decision);
            return true;
        case PP_ACTION_HOST:
        case PP_ACTION_PUNT:
            decision.verdict = hand_over(slice, decision.verdict);
            [[fallthrough]];
        case PP_ACTION_DROP:
        case PP_ACTION_TAKEN:
            released_[released_count_++] = slice.slot;
            break;
    }
    counters_.verdict(slice.port, decision.verdict);
    return false;
}

void ControlLoop::police(pp_guard& guard, const HeaderSlice& slice, Decision& decision) {
    const Policer::Packet packet{decision.verdict,
                                 action_of(decision.verdict),
                                 decision.ingress_interface,
                                 decision.l3_offset,
                                 {slice.bytes, std::min<size_t>(slice.length, PP_SLICE_BYTES)},
                                 slice.frame_length};
    decision.verdict = policer_.police(guard, packet, monotonic_nanoseconds);
}

// As it came, but for the bytes that have been rewritten.
void ControlLoop::leave(size_t index) {
    const HeaderSlice& slice = slices_[index];
    offload::EgressDescriptor& out = egress_[egress_count_++];
    out.slot = slice.slot;
    out.port = batch_.egress_port(index);
    out.header_length = slice.length;
    out.header = slice.bytes;
    out.payload_length = slice.frame_length - slice.length;
}

// The new header goes where the old one was: in front of what follows it, which stays where it is.
void ControlLoop::forwarded(HeaderSlice& slice, const Decision& decision) {
    uint8_t* begin = slice.bytes + decision.consumed - decision.header_length;
    std::memcpy(begin, decision.header.data(), decision.header_length);
    const uint32_t frame_length = slice.frame_length - decision.trailer;
    const uint32_t slice_length = std::min<uint32_t>(slice.length, frame_length);
    const uint32_t kept = slice_length - decision.consumed;
    const auto header_length = static_cast<uint16_t>(decision.header_length + kept);
    if (decision.route_counter != 0)
        counters_.route(decision.route_counter, frame_length - decision.consumed + decision.header_length);
    // Field by field: put together elsewhere and copied, it would be read wider than it was written, which
    // stalls the CPU.
    offload::EgressDescriptor& out = egress_[egress_count_++];
    out.slot = slice.slot;
    out.port = decision.egress_port;
    out.header_length = header_length;
    out.header = begin;
    out.payload_length = frame_length - slice_length;
}

void ControlLoop::look_for_returning(const IngressRun& run) {
    uint64_t returning = 0;
    const size_t end = size_t{run.first} + run.count;
    for (size_t index = run.first; index < end; index++)
        returning |= uint64_t{batch_.egress_port(index) == run.port} << index;
    returning &= plain_;
    if (returning == 0) return;
    if (in_place_) in_place_->slice(uint64_t{1} << std::countr_zero(returning), slices_);
    copy(slices_[static_cast<size_t>(std::countr_zero(returning))]);
}

void ControlLoop::copy(const HeaderSlice& slice) {
    // Payloads that wait in a device's memory stay there.
    if (io_.readable_bytes(slice) < slice.frame_length) return;
    wants_returning_.store(false, std::memory_order_relaxed);
    const pp_punt head{slice.port, PP_FORWARDED, 1, slice.frame_length};
    const auto frame = for_daemon_.reserve(head);
    if (frame.empty() || !io_.copy_frame(slice, frame)) return;
    for_daemon_.publish();
    wake_ = true;
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
