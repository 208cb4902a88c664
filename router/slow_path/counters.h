// SPDX-License-Identifier: BSD-3-Clause
/// Every outcome that the slow path counts, by name. One thread; plain numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pktpit::router {

/// X(name). Names are shown to people and in metrics: append, never rename.
#define PKTPIT_SLOW_PATH_COUNTERS(X) \
    X(forwarded)                     \
    X(transmit_failed)               \
    X(options_recorded_route)        \
    X(options_timestamped)           \
    X(options_timestamp_overflow)    \
    X(fragmented_packets)            \
    X(fragments_sent)                \
    X(fragment_impossible)           \
    X(neighbour_requests)            \
    X(neighbour_queued)              \
    X(neighbour_released)            \
    X(neighbour_failed)              \
    X(neighbour_expired)             \
    X(neighbour_queue_full)          \
    X(neighbour_memory_full)         \
    X(neighbour_interface_gone)      \
    X(icmp4_net_unreachable)         \
    X(icmp4_host_unreachable)        \
    X(icmp4_prohibited)              \
    X(icmp4_fragmentation_needed)    \
    X(icmp4_time_exceeded)           \
    X(icmp4_parameter_problem)       \
    X(icmp6_no_route)                \
    X(icmp6_prohibited)              \
    X(icmp6_beyond_scope)            \
    X(icmp6_address_unreachable)     \
    X(icmp6_packet_too_big)          \
    X(icmp6_time_exceeded)           \
    X(icmp6_parameter_problem)       \
    X(icmp_rate_limited)             \
    X(icmp_no_way_back)              \
    X(icmp_no_source_address)        \
    X(icmp_own_undeliverable)        \
    X(icmp_silent_icmp_error)        \
    X(icmp_silent_fragment)          \
    X(icmp_silent_broadcast)         \
    X(icmp_silent_multicast)         \
    X(icmp_silent_link_broadcast)    \
    X(icmp_silent_source)            \
    X(icmp_silent_option)            \
    X(dropped_malformed)             \
    X(dropped_no_image)              \
    X(dropped_no_egress)             \
    X(dropped_ipv6_link_too_small)   \
    X(neighbour_limit)               \
    X(sent_for_stage)                \
    X(neighbour_not_asked)           \
    X(neighbour_withdrawn)           \
    X(icmp4_redirect)                \
    X(icmp6_redirect)                \
    X(icmp_redirect_withheld)

enum class Counter : uint8_t {
#define PKTPIT_COUNTER_ENUM(name) name,
    PKTPIT_SLOW_PATH_COUNTERS(PKTPIT_COUNTER_ENUM)
#undef PKTPIT_COUNTER_ENUM
        count_
};

inline constexpr size_t counter_count = static_cast<size_t>(Counter::count_);

class Counters {
  public:
    void add(Counter counter, uint64_t by = 1) { values_[static_cast<size_t>(counter)] += by; }
    [[nodiscard]] uint64_t operator[](Counter counter) const { return values_[static_cast<size_t>(counter)]; }

  private:
    std::array<uint64_t, counter_count> values_{};
};

}  // namespace pktpit::router
