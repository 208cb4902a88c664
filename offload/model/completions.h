// SPDX-License-Identifier: BSD-3-Clause
/// How a completer answers reads: where the answer is cut, and the completions that carry it. Endpoints and
/// the root complex use it. One thread.
#pragma once

#include "offload/model/tlp.h"
#include "offload/pci/bandwidth.h"

namespace pktpit::model {

class Port;

struct CompletionCut {
    unsigned mps = 256;
    unsigned boundary = 64;  ///< read completion boundary, bytes
    offload::Completions cut = offload::Completions::as_large_as_payload;
};

/// Bytes of the first completion for `left` bytes from `address` on. All but the last end at a boundary (PCIe
/// Base 5.0, section 2.3.1.1).
uint32_t first_completion(uint64_t address, uint32_t left, const CompletionCut& cut);

/// Sends the answer to `request`, whose bytes are at `bytes`, by `port`.
void complete_read(TlpPool& pool, Port& port, size_t source, const Tlp& request, const std::byte* bytes,
                   const CompletionCut& cut);

/// A completion without data for a request; its requester is the target.
Tlp* make_completion(TlpPool& pool, const Tlp& request, CompletionStatus status);

}  // namespace pktpit::model
