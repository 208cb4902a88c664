// SPDX-License-Identifier: BSD-3-Clause
/// Where what lies in the memory of a peer device that forwards (offload/peer_ops/device_memory.h): control
/// page and tables, two queues of frames, the FIB image; from the next MiB on each port's rings, header cells
/// and payload slots, which no CPU touches. Offsets from the memory's start. Pure; any thread.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "offload/nic/nic.h"

namespace pktpit::router {

struct PeerPlan {
    uint64_t queue_slot_bytes = 0;  ///< a frame behind its descriptor
    uint64_t to_host = 0;
    uint64_t from_host = 0;
    uint64_t image = 0;
    uint64_t image_bytes = 0;
    uint64_t ports = 0;       ///< the first port's part; before it all is the daemon's
    uint64_t port_bytes = 0;  ///< of a part: whole pages
    uint64_t end = 0;

    // Within a port's part.
    uint64_t tx_ring = 0;  ///< the receive ring lies at 0
    uint64_t rings_bytes = 0;
    uint64_t templates = 0;
    uint64_t cells = 0;
    uint64_t payloads = 0;

    [[nodiscard]] uint64_t port(size_t lane) const { return ports + lane * port_bytes; }
};

PeerPlan plan_peer_memory(const config::Vfio& settings, uint64_t image_bytes, size_t ports);

inline constexpr uint32_t peer_cell_bytes = 128;

}  // namespace pktpit::router
