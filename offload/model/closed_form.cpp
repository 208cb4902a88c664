// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/closed_form.h"

namespace pktpit::model {
namespace {

constexpr uint64_t descriptor = 16;
constexpr uint64_t credit = 8;
constexpr uint64_t push = 4;  // the read that pushes a bounced frame

/// Payload is carried in double words.
uint64_t padded(uint64_t bytes) {
    return (bytes + 3) / 4 * 4;
}

}  // namespace

TransferBytes closed_form(const TransferShape& shape) {
    const uint64_t n = shape.frames;
    const auto write = [&](uint64_t bytes) { return offload::write_wire_bytes(padded(bytes), shape.mps); };
    const auto request = [&](uint64_t bytes) { return offload::read_request_wire_bytes(bytes, shape.mrrs); };
    const auto answer = [&](uint64_t bytes) {
        offload::PcieAssumptions pcie;
        pcie.completions = shape.completions;
        pcie.boundary = shape.rcb;
        return offload::completion_wire_bytes(padded(bytes), shape.mps, shape.mrrs, pcie);
    };
    const uint64_t frame = n * write(shape.size);
    const uint64_t descriptors = n * write(descriptor);
    const uint64_t credits = n / shape.credit_batch * write(credit);
    const uint64_t requests = n * request(shape.size);
    const uint64_t answers = n * answer(shape.size);

    TransferBytes bytes;
    bytes.from_egress.writes = bytes.to_ingress.writes = credits;
    bytes.from_ingress.writes = bytes.to_egress.writes = descriptors;
    switch (shape.transfer) {
        case Transfer::write:
            bytes.from_ingress.writes += frame;
            bytes.to_egress.writes += frame;
            break;
        case Transfer::read:
            bytes.from_egress.read_requests = bytes.to_ingress.read_requests = requests;
            bytes.from_ingress.completions = bytes.to_egress.completions = answers;
            break;
        case Transfer::bounce:
            bytes.from_ingress.writes += frame;
            bytes.from_ingress.read_requests = n * request(push);
            bytes.to_ingress.completions = n * answer(push);
            bytes.from_egress.read_requests = requests;
            bytes.to_egress.completions = answers;
            bytes.to_root = {frame, requests + n * request(push), 0};
            bytes.from_root = {0, 0, answers + n * answer(push)};
            bytes.root_payload = 2 * n * shape.size + n * push;
            break;
    }
    return bytes;
}

}  // namespace pktpit::model
