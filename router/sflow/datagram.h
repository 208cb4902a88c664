// SPDX-License-Identifier: BSD-3-Clause
/// sFlow version 5 datagrams (sFlow.org, "sFlow Version 5", July 2004), byte by byte: flow samples with the
/// packet's first bytes, and counter samples of interfaces. Any thread; nothing is sent here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace pktpit::router {

/// Where a sampled packet went, as the specification writes it.
struct SflowOutput {
    uint32_t value = 0;
    static SflowOutput unknown() { return {0}; }
    static SflowOutput interface(uint32_t ifindex) { return {ifindex & 0x3fffffff}; }
    /// For this device itself.
    static SflowOutput self() { return {0x3fffffff}; }
    /// Dropped; `reason`: an ICMP unreachable code, or one from 256 on.
    static SflowOutput dropped(uint32_t reason) { return {0x40000000U | reason}; }
};
namespace sflow_drop {
inline constexpr uint32_t net_unreachable = 0, host_unreachable = 1, prohibited = 13;
inline constexpr uint32_t unknown = 256, ttl_exceeded = 257, acl = 258, no_buffer = 259, rate = 261,
                          too_big = 262;
}  // namespace sflow_drop

struct SflowFlowSample {
    uint32_t sequence = 0;  ///< of the source's flow samples
    uint32_t source = 0;    ///< ifindex of the interface that was sampled
    uint32_t rate = 0;      ///< one in so many
    uint32_t pool = 0;      ///< packets that there were to sample from
    uint32_t drops = 0;     ///< samples that were lost
    uint32_t input = 0;     ///< ifindex
    SflowOutput output;
    uint32_t frame_length = 0;        ///< without FCS
    std::span<const uint8_t> header;  ///< of the frame as it came in
};

struct SflowCounterSample {
    uint32_t sequence = 0;  ///< of the source's counter samples
    uint32_t ifindex = 0;
    uint64_t bits_per_second = 0;  ///< 0: not known
    bool up = false;
    uint64_t in_octets = 0, out_octets = 0;  ///< with FCS
    uint64_t in_packets = 0, out_packets = 0;
    uint64_t in_discards = 0;
};

class SflowDatagram {
  public:
    /// What fits into an Ethernet frame, whatever is below.
    static constexpr size_t most_bytes = 1400;
    static constexpr size_t most_header = 512;

    SflowDatagram(const IpAddress& agent, uint32_t sub_agent, uint32_t sequence, uint32_t uptime_ms);
    /// False: it has no room for it, and is as it was.
    bool add(const SflowFlowSample& sample);
    bool add(const SflowCounterSample& sample);
    [[nodiscard]] bool empty() const { return samples_ == 0; }
    [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }

  private:
    void put(uint32_t value);
    void put64(uint64_t value);
    void set(size_t at, uint32_t value);
    bool room_for(size_t more) const { return bytes_.size() + more <= most_bytes; }
    void count();

    std::vector<uint8_t> bytes_;
    size_t count_at_ = 0;
    uint32_t samples_ = 0;
};

}  // namespace pktpit::router
