// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/punt_record.h"

#include <cstring>

namespace pktpit::router {

std::optional<PuntRecord> read_punt(std::span<uint8_t> record) {
    PuntRecord read{};
    if (record.size() < sizeof read.head) return std::nullopt;
    std::memcpy(&read.head, record.data(), sizeof read.head);
    const std::span<uint8_t> rest = record.subspan(sizeof read.head);
    if (read.head.frame_length > rest.size() || read.head.verdict >= PP_VERDICT_COUNT ||
        read.head.port >= PP_MAX_PORTS)
        return std::nullopt;
    read.frame = rest.first(read.head.frame_length);
    return read;
}

}  // namespace pktpit::router
