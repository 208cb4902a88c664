// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/switch_chip.h"

#include <algorithm>
#include <bit>

#include "offload/model/completions.h"
#include "offload/model/fabric.h"

namespace pktpit::model {

SwitchChip::SwitchChip(Fabric& fabric, NodeId id, const std::string& name, size_t downstream_ports,
                       const SwitchSettings& settings)
    : Node(id, name), fabric_(fabric), settings_(settings) {
    for (size_t i = 0; i < downstream_ports + 1; i++)
        add_port(fabric.events(), downstream_ports + 1);
}

int SwitchChip::route(uint16_t in, const Tlp& tlp) const {
    const int out = fabric_.port_to(id(), tlp.target);
    if (in == 0) return out == 0 ? -1 : out;  // from above, and not for anybody below
    if (out <= 0) return 0;
    const uint64_t redirect = flow_class(tlp.type) == FlowClass::completion ? settings_.redirect_completions
                                                                            : settings_.redirect_requests;
    const bool direct = settings_.direct_translated && tlp.address_type == AddressType::translated;
    const bool redirected = !tlp.through_root && !direct && (redirect >> (in - 1) & 1);
    // Whoever asks its own port for itself is answered by nobody: it goes up, as all that is not for a peer.
    return redirected || out == in ? 0 : out;
}

void SwitchChip::arrive(Port& in, Tlp* tlp, Time head, Time tail) {
    tlp->ingress = in.index();
    tlp->held = data_credits(*tlp);
    const int out = route(in.index(), *tlp);
    if (out < 0) {
        fabric_.events().schedule(tail + settings_.latency, *this, ~0U, std::bit_cast<uint64_t>(tlp));
        return;
    }
    // On a faster link it must not run dry before the last bit has come in.
    const Time sending = port(static_cast<size_t>(out)).wire().time(tlp->wire_bytes);
    const Time ready = std::max(head, tail - std::min(tail, sending)) + settings_.latency;
    fabric_.events().schedule(ready, *this, static_cast<uint32_t>(out), std::bit_cast<uint64_t>(tlp));
}

void SwitchChip::on_event(uint32_t what, uint64_t argument) {
    Tlp* tlp = std::bit_cast<Tlp*>(argument);
    if (what == ~0U) {
        port(tlp->ingress).release(*tlp);
        refuse(tlp, tlp->ingress);
        return;
    }
    port(what).push(tlp, tlp->ingress);
}

void SwitchChip::departed(Port&, const Tlp& tlp) {
    if (tlp.ingress != no_port) port(tlp.ingress).release(flow_class(tlp.type), tlp.held);
}

void SwitchChip::undeliverable(Port& out, Tlp* tlp) {
    refuse(tlp, out.index());
}

/// Answers a request that goes nowhere; what needs no answer is gone (PCIe Base 5.0, section 2.3.1).
void SwitchChip::refuse(Tlp* tlp, uint16_t by) {
    unsupported_requests_++;
    if (flow_class(tlp->type) == FlowClass::non_posted) {
        Tlp* answer = make_completion(fabric_.tlps(), *tlp, CompletionStatus::unsupported_request);
        const int out = fabric_.port_to(id(), answer->target);
        if (out >= 0 && port(static_cast<size_t>(out)).up())
            port(static_cast<size_t>(out)).push(answer, by);
        else
            fabric_.tlps().give(answer);
    }
    fabric_.tlps().give(tlp);
}

}  // namespace pktpit::model
