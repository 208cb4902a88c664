// SPDX-License-Identifier: BSD-3-Clause
/// The rates of interfaces and of what goes to the host, as a worker keeps to them: the twin in C++ of
/// bpf/guard.h, out of the same buckets. One thread a Policer, which has its CPU's share of each bucket; it
/// never allocates, locks or logs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bpf/verdict.h"
#include "router/guard/guard_view.h"

namespace pktpit::router {

class Policer {
  public:
    /// A packet that is decided about, with the verdict's action, before it is sent or handed on.
    struct Packet {
        pp_verdict verdict = PP_NONE;
        pp_action action = PP_ACTION_DROP;
        uint16_t interface = 0;          ///< that it came in by; 0: none
        uint16_t l3_offset = 0;          ///< 0: there is no IP header
        std::span<const uint8_t> slice;  ///< its first bytes, at most 128
        uint32_t frame_length = 0;
    };
    /// The verdict, or that of the rate that the packet is above.
    template <class Clock>
    pp_verdict police(pp_guard& guard, const Packet& packet, Clock nanoseconds) {
        if (packet.action != PP_ACTION_FORWARD && packet.action != PP_ACTION_HOST &&
            packet.action != PP_ACTION_PUNT)
            return packet.verdict;
        if (const uint16_t bucket = is_ip(packet) ? bucket_of(guard, packet.interface) : uint16_t{0};
            bucket != 0 && !passes(guard, bucket, packet.frame_length, nanoseconds) && !is_discovery(packet))
            return PP_DROP_POLICE;
        if (packet.action != PP_ACTION_HOST || is_for_kernels_forwarding(packet.verdict))
            return packet.verdict;
        if (!any_of_host(guard)) return packet.verdict;
        const auto one = class_of(packet);
        return passes(guard, one, 1, nanoseconds) ? packet.verdict
                                                  : static_cast<pp_verdict>(PP_DROP_HOST_ARP + one);
    }

  private:
    template <class Clock>
    bool passes(pp_guard& guard, uint16_t bucket, uint32_t units, Clock nanoseconds) {
        uint64_t& own = own_[bucket];
        if (own >= units) {
            own -= units;
            return true;
        }
        return take(guard.buckets[bucket], own, units, nanoseconds());
    }
    static bool take(pp_bucket& bucket, uint64_t& own, uint32_t units, uint64_t now);
    static bool is_ip(const Packet& packet);
    static bool is_discovery(const Packet& packet);
    /// What the kernel is to forward is not the host's.
    static bool is_for_kernels_forwarding(pp_verdict verdict) {
        return verdict == PP_HOST_KERNEL_ROUTE || verdict == PP_HOST_FILTER || verdict == PP_HOST_DAEMON_LOST;
    }
    static bool any_of_host(const pp_guard& guard);
    static uint16_t class_of(const Packet& packet);

    std::array<uint64_t, PP_BUCKETS> own_{};  ///< taken, and not spent
};

}  // namespace pktpit::router
