// SPDX-License-Identifier: BSD-3-Clause
/// What pinned maps hold, as it is in the version that PP_ABI_VERSION names: a daemon of the same version
/// takes every number for what it was. A case that fails after a change of these asks for the next version.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "bpf/abi.h"
#include "fib/rib.h"
#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

TEST(PinnedLayout, counters_are_those_of_this_version) {
    EXPECT_EQ(PP_ABI_VERSION, 3);
    EXPECT_EQ(sizeof(pp_port_counters), 32 + 64 * 8);
    EXPECT_EQ(offsetof(pp_port_counters, verdict), 32);
    EXPECT_EQ(sizeof(pp_route_counters), 16);
    EXPECT_EQ(sizeof(pp_counted_route), 24);
    EXPECT_EQ(offsetof(pp_counted_route, address), 4);
    EXPECT_EQ(offsetof(pp_counted_route, table), 20);
}

// Appended verdicts need no new version: their counters have been 0.
TEST(PinnedLayout, verdicts_have_the_numbers_of_this_version) {
    constexpr std::array<std::string_view, 51> names = {"none",
                                                        "forwarded",
                                                        "host_local",
                                                        "host_arp",
                                                        "host_multicast",
                                                        "host_broadcast",
                                                        "host_link_local",
                                                        "host_not_ip",
                                                        "host_other_mac",
                                                        "host_unknown_vlan",
                                                        "ttl_expired",
                                                        "too_big",
                                                        "no_neighbour",
                                                        "no_route",
                                                        "unreachable",
                                                        "prohibited",
                                                        "ipv4_options",
                                                        "ipv6_option",
                                                        "beyond_scope",
                                                        "drop_truncated",
                                                        "drop_vlan_depth",
                                                        "drop_l2_broadcast",
                                                        "drop_ipv4_version",
                                                        "drop_ipv4_header_length",
                                                        "drop_ipv4_length",
                                                        "drop_ipv4_checksum",
                                                        "drop_ipv4_source_route",
                                                        "drop_martian_source",
                                                        "drop_martian_destination",
                                                        "drop_link_local",
                                                        "drop_directed_broadcast",
                                                        "drop_ipv6_version",
                                                        "drop_ipv6_length",
                                                        "drop_ipv6_extension",
                                                        "drop_ipv6_option",
                                                        "drop_blackhole",
                                                        "drop_no_egress",
                                                        "drop_punt_full",
                                                        "drop_broken_fib",
                                                        "drop_no_headroom",
                                                        "drop_rx_error",
                                                        "drop_no_slot",
                                                        "drop_egress_full",
                                                        "drop_memory_revoked",
                                                        "drop_split_full",
                                                        "drop_stale",
                                                        "host_daemon_lost",
                                                        "drop_source_mac",
                                                        "drop_own_source",
                                                        "drop_broadcast_source",
                                                        "host_kernel_route"};
    for (size_t number = 0; number < names.size(); number++)
        EXPECT_EQ(name_of(static_cast<pp_verdict>(number)), names[number]) << number;
}

TEST(PinnedLayout, sources_of_routes_have_the_numbers_of_this_version) {
    constexpr std::array<std::string_view, 5> names = {"connected", "cli", "config", "fpm", "kernel"};
    for (size_t number = 0; number < names.size(); number++)
        EXPECT_EQ(to_string(static_cast<fib::RouteSource>(number)), names[number]);
}

}  // namespace
}  // namespace pktpit::router
