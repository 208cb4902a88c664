// SPDX-License-Identifier: BSD-3-Clause
/// What workers tell the daemon, as foreign bytes, and the router's answer. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allreduce/wire.h"

namespace pktpit::router {

/// A worker's word that is no elements.
struct WorkerMessage {
    pa_kind kind = PA_ALIVE;  ///< PA_JOIN, PA_ALIVE or PA_LEAVE
    uint64_t key = 0;
    uint16_t epoch = 0;
    uint8_t worker = 0;
    uint64_t incarnation = 0;  ///< of a join, never 0
};

/// Nothing: the datagram is none of these, or too short.
std::optional<WorkerMessage> read_worker_message(std::span<const uint8_t> datagram);

std::vector<uint8_t> write_state(uint64_t key, uint16_t epoch, uint8_t worker, const pa_state& state);

}  // namespace pktpit::router
