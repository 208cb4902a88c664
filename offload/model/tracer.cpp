// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/tracer.h"

#include "offload/model/node.h"

namespace pktpit::model {

void Tracer::sent(const Port& port, const Tlp& tlp, Time begin, Time tail) {
    if (tlp.packet != packet_) return;
    std::string what(to_string(tlp.type));
    if (has_data(tlp.type) || tlp.type == TlpType::memory_read)
        what += " " + std::to_string(tlp.length) + " B";
    if (tlp.status == CompletionStatus::unsupported_request) what += " UR";
    entries_.push_back({begin, tail, port.owner().name(), port.peer()->owner().name(), std::move(what),
                        tlp.wire_bytes, has_data(tlp.type) ? tlp.length : 0, tlp.type, true});
}

void Tracer::step(uint64_t packet, const std::string& where, std::string what, Time begin, Time end) {
    if (packet != packet_) return;
    entries_.push_back({begin, end, where, where, std::move(what), 0, 0, TlpType::memory_write, false});
}

}  // namespace pktpit::model
