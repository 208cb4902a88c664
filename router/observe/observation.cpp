// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/observation.h"

#include <algorithm>
#include <cstring>

#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

/// Tags that a rewrite adds or removes: two of four bytes.
constexpr uint32_t most_change = 8;

}  // namespace

std::optional<Observation> parse_observation(std::span<const uint8_t> record) {
    pp_observation head;
    if (record.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, record.data(), sizeof head);
    const auto rest = record.subspan(sizeof head);
    const uint32_t kept = head.frame_length - std::min(head.trailer, head.frame_length);
    const uint32_t change = std::max(kept, head.end_length) - std::min(kept, head.end_length);
    if (head.port == 0 || head.port >= PP_MAX_PORTS || head.egress_port >= PP_MAX_PORTS ||
        head.verdict == PP_NONE || head.verdict >= PP_VERDICT_COUNT ||
        (head.by != PP_OBSERVED_BY_STAGE && head.by != PP_OBSERVED_BY_WORKER) || head.slice_bytes == 0 ||
        head.slice_bytes > PP_SLICE_BYTES || head.slice_bytes > head.frame_length || change > most_change ||
        head.trailer > head.frame_length || head.frame_bytes > head.end_length ||
        head.frame_bytes > rest.size())
        return std::nullopt;
    Observation seen;
    seen.port = head.port;
    seen.egress_port = head.egress_port;
    seen.verdict = static_cast<pp_verdict>(head.verdict);
    seen.by_worker = head.by == PP_OBSERVED_BY_WORKER;
    seen.frame_length = head.frame_length;
    seen.end_length = head.end_length;
    seen.trailer = head.trailer;
    seen.start = head.start;
    seen.decided = head.decided;
    seen.end = head.end;
    seen.slice = record.subspan(offsetof(pp_observation, slice), head.slice_bytes);
    seen.frame = rest.first(head.frame_bytes);
    return seen;
}

std::vector<uint8_t> Observation::ingress(size_t most) const {
    const auto begin = slice.first(std::min(slice.size(), most));
    std::vector<uint8_t> bytes(begin.begin(), begin.end());
    // What is behind the slice has moved with the rewritten header.
    const size_t at = slice.size() + end_length + trailer - frame_length;
    if (bytes.size() == most || at >= frame.size()) return bytes;
    const auto behind = frame.subspan(at);
    bytes.insert(bytes.end(), behind.begin(),
                 behind.begin() + static_cast<std::ptrdiff_t>(std::min(behind.size(), most - bytes.size())));
    return bytes;
}

pp_point Observation::point() const {
    switch (action_of(verdict)) {
        case PP_ACTION_FORWARD:
            return PP_POINT_EGRESS;
        case PP_ACTION_DROP:
            return PP_POINT_DROP;
        default:
            return PP_POINT_OTHER;
    }
}

}  // namespace pktpit::router
