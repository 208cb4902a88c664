// SPDX-License-Identifier: BSD-3-Clause
/// What a client wants to see of the packets: the query of GET /v1/trace and GET /v1/capture, as plain
/// values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "bpf/abi.h"
#include "router/observe/packet_filter.h"

namespace pktpit::router {

enum class CapturePoint : uint8_t { ingress, egress, drop };

struct ObservationRequest {
    bool trace = false;             ///< JSON lines; else pcapng
    std::set<CapturePoint> points;  ///< a capture's
    std::optional<PacketFilter> filter;
    std::string port;               ///< name; empty: all
    std::set<pp_verdict> verdicts;  ///< a trace's; empty: all
    std::optional<uint64_t> count;  ///< packets
    std::optional<std::chrono::milliseconds> duration;
    uint32_t snaplen = PP_OBSERVED_BYTES;
    uint32_t one_in = 1;
};

/// Errors have `where` = "?name".
Result<ObservationRequest> parse_observation_request(bool trace,
                                                     const std::multimap<std::string, std::string>& query);

}  // namespace pktpit::router
