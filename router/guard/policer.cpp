// SPDX-License-Identifier: BSD-3-Clause
#include "router/guard/policer.h"

#include <algorithm>
#include <span>

#include "bpf/police.h"
#include "router/guard/host_class.h"

namespace pktpit::router {

bool Policer::take(pp_bucket& bucket, uint64_t& own, uint32_t units, uint64_t now) {
    __u64 left = own;
    const bool passes = pp_police_take(&bucket, &left, units, now) != 0;
    own = left;
    return passes;
}

bool Policer::is_ip(const Packet& packet) {
    if (packet.interface == 0 || packet.l3_offset < 2 || packet.l3_offset > packet.slice.size()) return false;
    const uint32_t ethertype =
        static_cast<uint32_t>(packet.slice[packet.l3_offset - 2U]) << 8 | packet.slice[packet.l3_offset - 1U];
    return ethertype == 0x0800 || ethertype == 0x86dd;
}

bool Policer::is_discovery(const Packet& packet) {
    return packet.slice[packet.l3_offset - 2U] == 0x86 && shows_discovery(packet.slice, packet.l3_offset);
}

bool Policer::any_of_host(const pp_guard& guard) {
    return std::ranges::any_of(std::span(guard.buckets).first(PP_HOST_CLASSES), [](const pp_bucket& one) {
        return __atomic_load_n(&one.cost, __ATOMIC_RELAXED) != 0;
    });
}

uint16_t Policer::class_of(const Packet& packet) {
    // Frames that are not for this host, whatever they carry.
    if (packet.verdict == PP_HOST_OTHER_MAC || packet.verdict == PP_HOST_UNKNOWN_VLAN)
        return PP_HOST_CLASS_OTHER;
    return static_cast<uint16_t>(host_class_of(packet.slice));
}

}  // namespace pktpit::router
