// SPDX-License-Identifier: BSD-3-Clause
/// The plain way held to the long one: batches of frames through PlainForwarder, each also through Forwarder,
/// alone. Shared by unit, differential and fuzz tests.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "router/forward/batch.h"
#include "router/forward/plain.h"
#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::router::test {

using pktpit::test::cpu_variants;

struct PlainFrame {
    uint16_t port = 1;
    Buffer slice;  ///< its memory ends where it does
    uint32_t frame_length = 0;
    bool checksum_good = false;
    bool vetoed = false;  ///< shall not be plain
};

/// A whole frame's.
inline PlainFrame plain_frame(uint16_t port, const Buffer& in) {
    return {port, cut(in, std::min<size_t>(in.size(), PP_SLICE_BYTES)), static_cast<uint32_t>(in.size())};
}

class PlainRig {
  public:
    PlainRig(const ImageView& image, fib::CpuVariant variant) : plain_(image, variant), long_way_(image) {}

    /// Empty, or what differs. What was plain is counted.
    std::string difference(std::span<const PlainFrame> frames) {
        PlainBatch& batch = batch_;
        std::vector<Buffer> slices;
        std::vector<IngressRun> runs;
        batch.clear();
        for (size_t i = 0; i < frames.size(); i++) {
            const PlainFrame& frame = frames[i];
            slices.push_back(frame.slice);
            slices.back().shrink_to_fit();
            batch.put(i, slices[i].data(), frame.vetoed ? uint16_t{0} : uint16_t(slices[i].size()),
                      frame.frame_length, frame.checksum_good);
            if (runs.empty() || runs.back().port != frame.port)
                runs.push_back({frame.port, static_cast<uint16_t>(i), 0, 0, 0});
            runs.back().count++;
        }
        const uint64_t which = plain_.forward(batch, runs);
        if (frames.size() < 64 && which >> frames.size() != 0) return "a frame that there is not is plain";
        if ((plain_.counted() & ~which) != 0) return "counted for a route, and not plain";
        plain += static_cast<size_t>(std::popcount(which));
        for (size_t i = 0; i < frames.size(); i++)
            if (const std::string text = difference(frames[i], i, slices[i], which); !text.empty())
                return "frame " + std::to_string(i) + " of " + std::to_string(frames.size()) + ": " + text;
        return {};
    }

    size_t plain = 0;  ///< so far

  private:
    std::string difference(const PlainFrame& frame, size_t index, const Buffer& after, uint64_t which) {
        if ((which >> index & 1) == 0) return after == frame.slice ? "" : "written to, and not plain";
        const IngressFrame in{frame.port, frame.slice, frame.frame_length, frame.checksum_good};
        Decision decision;
        long_way_.forward({&in, 1}, {&decision, 1});
        if (frame.vetoed) return "plain against a veto";
        if (decision.verdict != PP_FORWARDED) return std::string("plain, and ") + name_of(decision.verdict);
        if (decision.egress_port != batch_.egress_port(index)) return "another port";
        if (decision.consumed != decision.header_length || decision.trailer != 0) return "another length";
        const uint16_t counter = (plain_.counted() >> index & 1) != 0 ? batch_.route_counter(index) : 0;
        if (decision.route_counter != counter) return "another route's counter";
        Buffer expected = frame.slice;
        std::copy_n(decision.header.begin(), decision.header_length, expected.begin());
        if (after != expected) return "other bytes";
        std::array<Forwarder::Sighting, Forwarder::batch> seen;
        if (long_way_.looked_up(seen) != 1) return "no lookup";
        const pp_destination noted = batch_.destination(index);
        return noted.high == seen[0].destination.high && noted.low == seen[0].destination.low
                   ? ""
                   : "another destination";
    }

    PlainForwarder plain_;
    Forwarder long_way_;
    PlainBatch batch_;
};

}  // namespace pktpit::router::test
