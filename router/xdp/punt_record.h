// SPDX-License-Identifier: BSD-3-Clause
/// A record of the ring of punted frames. Called by the reader of the ring; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bpf/abi.h"

namespace pktpit::router {

struct PuntRecord {
    pp_punt head;
    std::span<uint8_t> frame;  ///< within the record
};

/// Nothing: no port stage has written this. A record may be longer than what was sent (bpf/ring.h).
std::optional<PuntRecord> read_punt(std::span<uint8_t> record);

}  // namespace pktpit::router
