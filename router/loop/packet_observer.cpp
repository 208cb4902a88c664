// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/packet_observer.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace pktpit::router {
namespace {

/// Of one frame: more than AF_XDP's chunks hold, and what other dataplanes show is a header slice.
constexpr size_t most_bytes = 4096;

pp_point point_of(pp_verdict verdict) {
    switch (action_of(verdict)) {
        case PP_ACTION_FORWARD:
            return PP_POINT_EGRESS;
        case PP_ACTION_DROP:
            return PP_POINT_DROP;
        default:
            return PP_POINT_OTHER;
    }
}

size_t room_for(const pp_observing& wanted) {
    return std::min<size_t>(wanted.snaplen, most_bytes);
}

}  // namespace

PacketObserver::PacketObserver(const pp_observing& wanted)
    : wanted_(wanted), room_(room_for(wanted)), bytes_(room_ * Forwarder::batch) {}

void PacketObserver::change(const pp_observing& wanted) {
    wanted_ = wanted;
    room_ = room_for(wanted);
    bytes_.resize(room_ * Forwarder::batch);
}

bool PacketObserver::is_sampled() {
    if (wanted_.threshold == UINT32_MAX) return true;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<uint32_t>(random_ >> 32) <= wanted_.threshold;
}

void PacketObserver::decided(std::span<const offload::HeaderSlice> slices,
                             std::span<const Decision> decisions, const offload::PacketIo& io) {
    decided_at_ = monotonic_nanoseconds();
    kept_count_ = 0;
    for (size_t i = 0; i < slices.size(); i++) {
        if (slices[i].length == 0 || wanted_.points[slices[i].port] == 0 || !is_sampled()) continue;
        kept_[kept_count_].index = static_cast<uint16_t>(i);
        keep(slices[i], decisions[i], io);
        kept_count_++;
    }
}

void PacketObserver::keep(const offload::HeaderSlice& slice, const Decision& decision,
                          const offload::PacketIo& io) {
    Kept& kept = kept_[kept_count_];
    kept.slot = slice.slot;
    pp_observation& record = kept.record;
    record.start = slice.timestamp;
    record.decided = decided_at_;
    record.frame_length = slice.frame_length;
    record.port = slice.port;
    record.by = PP_OBSERVED_BY_WORKER;
    record.slice_bytes = static_cast<uint16_t>(std::min<size_t>(slice.length, PP_SLICE_BYTES));
    std::memcpy(record.slice, slice.bytes, record.slice_bytes);

    // What will leave: the new header, and what follows the old one as far as it may be read.
    const bool leaves = decision.verdict == PP_FORWARDED && slice.veto == PP_NONE;
    record.egress_port = leaves ? decision.egress_port : uint16_t{0};
    const size_t header = leaves ? decision.header_length : 0;
    const size_t skipped = leaves ? decision.consumed : 0;
    record.trailer = leaves ? decision.trailer : 0;
    const size_t packet_end = slice.frame_length - record.trailer;
    record.end_length = static_cast<uint32_t>(packet_end - skipped + header);
    uint8_t* to = bytes_.data() + kept_count_ * room_;
    const size_t from_header = std::min(header, room_);
    std::memcpy(to, decision.header.data(), from_header);
    const size_t readable =
        std::max(std::min<size_t>(io.readable_bytes(slice), packet_end), skipped) - skipped;
    const size_t behind = std::min(readable, room_ - from_header);
    std::memcpy(to + from_header, slice.bytes + skipped, behind);
    kept.bytes = from_header + behind;
    record.frame_bytes = static_cast<uint32_t>(kept.bytes);
}

bool PacketObserver::finished(std::span<const Decision> decisions,
                              std::span<const offload::RefusedPacket> refused) {
    if (kept_count_ == 0) return false;
    const uint64_t doorbell = monotonic_nanoseconds();
    bool any = false;
    for (size_t i = 0; i < kept_count_; i++) {
        Kept& kept = kept_[i];
        pp_verdict verdict = decisions[kept.index].verdict;
        const auto not_sent = std::ranges::find(refused, kept.slot, &offload::RefusedPacket::slot);
        if (verdict == PP_FORWARDED && not_sent != refused.end())
            verdict = static_cast<pp_verdict>(not_sent->verdict);
        kept.record.verdict = static_cast<uint8_t>(verdict);
        kept.record.end = doorbell;
        if (!(wanted_.points[kept.record.port] & point_of(verdict))) continue;
        if (push(kept, std::span<const uint8_t>(bytes_).subspan(i * room_, kept.bytes)))
            any = true;
        else
            lost_[kept.record.port].fetch_add(1, std::memory_order_relaxed);
    }
    return any;
}

bool PacketObserver::push(const Kept& kept, std::span<const uint8_t> frame) {
    const pp_punt head{kept.record.port, kept.record.verdict, 0,
                       static_cast<uint32_t>(sizeof kept.record + frame.size())};
    const std::span<const uint8_t> record(reinterpret_cast<const uint8_t*>(&kept.record), sizeof kept.record);
    return queue_.push(head, std::array<std::span<const uint8_t>, 2>{record, frame});
}

}  // namespace pktpit::router
