// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/endpoint.h"

#include <bit>
#include <cstring>

#include "offload/model/fabric.h"

namespace pktpit::model {
namespace {

constexpr uint32_t arrived = 0;
constexpr uint32_t read_done = 1;

}  // namespace

Endpoint::Endpoint(Fabric& fabric, NodeId id, const std::string& name, const EndpointSettings& settings)
    : Node(id, name),
      fabric_(fabric),
      settings_(settings),
      memory_(settings.bar_bytes),
      link_(add_port(fabric.events(), 1)),
      requester_(fabric, link_, id, client_, settings.requester) {}

CreditLimits Endpoint::advertised(const CreditLimits& wanted) const {
    CreditLimits limits = wanted;
    limits[static_cast<size_t>(FlowClass::completion)] = {};
    return limits;
}

void Endpoint::arrive(Port&, Tlp* tlp, Time, Time tail) {
    fabric_.events().schedule(tail, *this, arrived, std::bit_cast<uint64_t>(tlp));
}

void Endpoint::on_event(uint32_t what, uint64_t argument) {
    Tlp* tlp = std::bit_cast<Tlp*>(argument);
    if (what == arrived)
        take(tlp);
    else
        answer(tlp);
}

void Endpoint::take(Tlp* tlp) {
    switch (flow_class(tlp->type)) {
        case FlowClass::completion:
            requester_.completed(*tlp);
            break;
        case FlowClass::non_posted:
            fabric_.events().schedule(fabric_.events().now() + settings_.read_latency, *this, read_done,
                                      std::bit_cast<uint64_t>(tlp));
            return;
        case FlowClass::posted: {
            const uint64_t offset = tlp->address - settings_.bar;
            link_.release(*tlp);
            if (tlp->type != TlpType::memory_write || !memory_.contains(offset, tlp->length)) {
                unsupported_requests_ += tlp->type != TlpType::message;
                break;
            }
            std::memcpy(memory_.at(offset), tlp->payload, tlp->length);
            if (device_) device_->memory_written(offset, tlp->length, tlp->packet);
            break;
        }
    }
    fabric_.tlps().give(tlp);
}

void Endpoint::answer(Tlp* tlp) {
    const uint64_t offset = tlp->address - settings_.bar;
    if (tlp->type == TlpType::memory_read && memory_.contains(offset, tlp->length)) {
        complete_read(fabric_.tlps(), link_, 0, *tlp, memory_.at(offset), settings_.completions);
    } else if (tlp->type == TlpType::memory_read) {
        unsupported_requests_++;
        link_.push(make_completion(fabric_.tlps(), *tlp, CompletionStatus::unsupported_request));
    } else {
        // Configuration: a register's worth of data, or just the acknowledgement of a write.
        Tlp* completion = make_completion(fabric_.tlps(), *tlp, CompletionStatus::successful);
        if (tlp->type == TlpType::config_read) {
            fabric_.tlps().give(completion);
            static constexpr std::byte zeros[4]{};
            complete_read(fabric_.tlps(), link_, 0, *tlp, zeros, settings_.completions);
        } else {
            link_.push(completion);
        }
    }
    link_.release(*tlp);
    fabric_.tlps().give(tlp);
}

void Endpoint::departed(Port&, const Tlp& tlp) {
    if (flow_class(tlp.type) != FlowClass::completion) requester_.departed(tlp);
}

void Endpoint::undeliverable(Port&, Tlp* tlp) {
    // Its own link is down: nobody answers a read, so that it fails now instead of at its timeout.
    if (flow_class(tlp->type) == FlowClass::non_posted) {
        Tlp* answer = make_completion(fabric_.tlps(), *tlp, CompletionStatus::unsupported_request);
        fabric_.events().schedule(fabric_.events().now(), *this, arrived, std::bit_cast<uint64_t>(answer));
    }
    fabric_.tlps().give(tlp);
}

}  // namespace pktpit::model
