// SPDX-License-Identifier: BSD-3-Clause
#include "router/aggregation/state_message.h"

#include <cstring>

namespace pktpit::router {

std::optional<WorkerMessage> read_worker_message(std::span<const uint8_t> datagram) {
    pa_header header{};
    if (datagram.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.magic != PA_MAGIC || header.worker >= PA_MAX_WORKERS) return std::nullopt;
    WorkerMessage message{static_cast<pa_kind>(header.kind), header.key, header.epoch, header.worker, 0};
    if (header.kind == PA_ALIVE || header.kind == PA_LEAVE) return message;
    pa_join join{};
    if (header.kind != PA_JOIN || datagram.size() < sizeof header + sizeof join) return std::nullopt;
    std::memcpy(&join, datagram.data() + sizeof header, sizeof join);
    if (join.incarnation == 0) return std::nullopt;
    message.incarnation = join.incarnation;
    return message;
}

std::vector<uint8_t> write_state(uint64_t key, uint16_t epoch, uint8_t worker, const pa_state& state) {
    pa_header header{};
    header.magic = PA_MAGIC;
    header.kind = PA_STATE;
    header.key = key;
    header.epoch = epoch;
    header.worker = worker;
    std::vector<uint8_t> datagram(sizeof header + sizeof state);
    std::memcpy(datagram.data(), &header, sizeof header);
    std::memcpy(datagram.data() + sizeof header, &state, sizeof state);
    return datagram;
}

}  // namespace pktpit::router
