// SPDX-License-Identifier: BSD-3-Clause
/// Bytes that a forwarded frame puts on each link, by type, from the formulas of offload/pci/bandwidth.h and
/// the programs' descriptors: independent of the fabric, which is held against it. Pure; any thread.
#pragma once

#include <array>

#include "offload/model/peer_firmware.h"
#include "offload/pci/bandwidth.h"

namespace pktpit::model {

/// Of `frames` frames from one NIC to another behind one switch, by p2pnic, each alone on the fabric.
struct LinkBytes {
    uint64_t writes = 0, read_requests = 0, completions = 0;
    bool operator==(const LinkBytes&) const = default;
};
struct TransferBytes {
    LinkBytes from_ingress, to_ingress;  ///< between the ingress NIC and the switch
    LinkBytes from_egress, to_egress;
    LinkBytes to_root, from_root;
    uint64_t root_payload = 0;  ///< bytes of frames on the root port, both directions
};

struct TransferShape {
    Transfer transfer = Transfer::write;
    uint32_t size = 64;
    uint64_t frames = 1;
    unsigned mps = 256;
    unsigned mrrs = 512;
    unsigned credit_batch = 16;  ///< divides `frames`
    offload::Completions completions = offload::Completions::as_large_as_payload;
    unsigned rcb = 64;
};

TransferBytes closed_form(const TransferShape& shape);

}  // namespace pktpit::model
