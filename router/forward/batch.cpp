// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/batch.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "router/forward/steps.h"

namespace pktpit::router {

namespace {

uint64_t word_at(const fib::Ip6Bytes& bytes, size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

}  // namespace

struct Forwarder::Scratch {
    std::array<Frame, batch> frames;
    std::array<uint32_t, batch> addresses4;
    std::array<fib::Ip6Bytes, batch> addresses6;
    std::array<fib::GroupId, batch> groups;
    // Which frame an address is of.
    std::array<uint8_t, batch> of4;
    std::array<uint8_t, batch> of6;
    size_t count4 = 0;
    size_t count6 = 0;
};

Forwarder::Forwarder(const ImageView& image, fib::CpuVariant variant)
    : image_(image), reader_(image.base, *image.geometry, variant), scratch_(std::make_unique<Scratch>()) {}

Forwarder::~Forwarder() = default;

// Flattened: all steps in one function, so that what one finds out is in registers for the next.
[[gnu::flatten]] void Forwarder::forward(std::span<const IngressFrame> frames,
                                         std::span<Decision> decisions) {
    assert(frames.size() <= batch && decisions.size() == frames.size());
    Scratch& scratch = *scratch_;
    size_t& count4 = scratch.count4 = 0;
    size_t& count6 = scratch.count6 = 0;
    for (size_t i = 0; i < frames.size(); i++) {
        // Not `= Decision()`, which zeroes the header, too.
        ::new (static_cast<void*>(&decisions[i])) Decision;
        Destination destination;
        decisions[i].verdict = begin_steps(i, frames[i], decisions[i], destination);
        if (decisions[i].verdict != PP_NONE) {
            pass_filters(scratch.frames[i], decisions[i]);
            continue;
        }
        if (scratch.frames[i].ethertype == ethertype_ipv4) {
            scratch.of4[count4] = static_cast<uint8_t>(i);
            scratch.addresses4[count4++] = destination.ipv4;
        } else {
            scratch.of6[count6] = static_cast<uint8_t>(i);
            scratch.addresses6[count6++] = destination.ipv6;
        }
    }
    if (count4 != 0) {
        look_up(std::span<const uint32_t>(scratch.addresses4).first(count4), scratch.of4);
        for (size_t at = 0; at < count4; at++) {
            const uint8_t i = scratch.of4[at];
            after_lookup(scratch.frames[i], decisions[i], scratch.groups[at]);
        }
    }
    if (count6 != 0) {
        look_up(std::span<const fib::Ip6Bytes>(scratch.addresses6).first(count6), scratch.of6);
        for (size_t at = 0; at < count6; at++) {
            const uint8_t i = scratch.of6[at];
            after_lookup(scratch.frames[i], decisions[i], scratch.groups[at]);
        }
    }
}

// One after the other what has the same table; frames of a port mostly do.
template <class Address>
void Forwarder::look_up(std::span<const Address> addresses, const std::array<uint8_t, batch>& of) {
    const auto table_at = [&](size_t at) { return scratch_->frames[of[at]].table; };
    for (size_t first = 0, end = 0; first < addresses.size(); first = end) {
        const uint16_t table = table_at(first);
        do
            end++;
        while (end < addresses.size() && table_at(end) == table);
        reader_.lookup_batch(addresses.subspan(first, end - first),
                             std::span(scratch_->groups).subspan(first, end - first), table);
    }
}

// Frames stay where they are: a Frame that is put together elsewhere and copied is read wider than it was
// written, which stalls the CPU (8 % of a worker's core).
pp_verdict Forwarder::begin_steps(size_t at, const IngressFrame& in, Decision& decision,
                                  Destination& destination) {
    Frame& frame = scratch_->frames[at];
    begin(frame, image_, in.port, in.slice, in.frame_length);
    frame.checksum_good = in.checksum_good;
    return before_lookup(frame, decision, destination);
}

size_t Forwarder::looked_up(std::span<Sighting, batch> out) const {
    const Scratch& scratch = *scratch_;
    size_t count = 0;
    for (size_t i = 0; i < scratch.count4; i++)
        out[count++] = {scratch.of4[i], {0, PP_DESTINATION_IPV4 | scratch.addresses4[i]}};
    for (size_t i = 0; i < scratch.count6; i++)
        out[count++] = {scratch.of6[i],
                        {word_at(scratch.addresses6[i], 0), word_at(scratch.addresses6[i], 8)}};
    return count;
}

}  // namespace pktpit::router
