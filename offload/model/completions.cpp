// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/completions.h"

#include <algorithm>
#include <cstring>

#include "offload/model/port.h"

namespace pktpit::model {
namespace {

void address_to_requester(Tlp& completion, const Tlp& request) {
    completion.requester = request.requester;
    completion.target = request.requester;
    completion.tag = request.tag;
    completion.packet = request.packet;
}

}  // namespace

uint32_t first_completion(uint64_t address, uint32_t left, const CompletionCut& cut) {
    const uint64_t boundary = cut.boundary;
    const uint64_t end = cut.cut == offload::Completions::at_boundary
                             ? (address / boundary + 1) * boundary
                             : (address + cut.mps) / boundary * boundary;
    if (end <= address) return std::min(left, cut.mps);  // an MPS below the boundary
    return static_cast<uint32_t>(std::min<uint64_t>(left, end - address));
}

void complete_read(TlpPool& pool, Port& port, size_t source, const Tlp& request, const std::byte* bytes,
                   const CompletionCut& cut) {
    for (uint32_t done = 0; done < request.length;) {
        const uint32_t piece = first_completion(request.address + done, request.length - done, cut);
        Tlp* tlp = pool.take(TlpType::completion_data, piece);
        address_to_requester(*tlp, request);
        tlp->offset = done;
        tlp->address = request.address + done;
        tlp->relaxed = request.relaxed;
        tlp->address_type = request.address_type;
        std::memcpy(tlp->payload, bytes + done, piece);
        port.push(tlp, source);
        done += piece;
    }
}

Tlp* make_completion(TlpPool& pool, const Tlp& request, CompletionStatus status) {
    Tlp* tlp = pool.take(TlpType::completion, 0);
    address_to_requester(*tlp, request);
    tlp->status = status;
    tlp->address_type = request.address_type;
    return tlp;
}

}  // namespace pktpit::model
