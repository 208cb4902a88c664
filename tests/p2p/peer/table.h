// SPDX-License-Identifier: BSD-3-Clause
/// What the host has written into the device's memory (offload/peer_ops/device_memory.h), read, decoded and
/// verified: nothing else is ever executed. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offload/peer_ops/device_memory.h"
#include "offload/peer_ops/operation.h"
#include "offload/peer_ops/windows.h"
#include "tests/p2p/peer/bus.h"
#include "tests/p2p/peer/image.h"

namespace pktpit::test_peer {

/// Bus addresses beside its own memory that the device may write: what an IOMMU or a switch would let it.
struct Reach {
    uint64_t first = 0;
    uint64_t bytes = 0;
};

struct LoadedProgram {
    offload::PeerProgram program;
    offload::PeerProgramEntry entry;
};

struct Table {
    uint64_t serial = 0;
    uint64_t bus_address = 0;
    std::vector<LoadedProgram> programs;
    std::unique_ptr<Image> image;
    uint64_t refused = 0;
    std::string refusal;  ///< of the last one
};

/// Nothing: the host is in the midst of writing one.
std::optional<Table> load_table(std::span<std::byte> memory, const std::vector<Reach>& reach);

}  // namespace pktpit::test_peer
