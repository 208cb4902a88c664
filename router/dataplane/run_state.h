// SPDX-License-Identifier: BSD-3-Clause
/// What outlives an instance's daemon beside its pins, in INSTANCE.state of the run directory: the network
/// namespace that it ran in, and of each device what its switches were before the router turned them, so that
/// whoever ends the data path, a later daemon or `pktpit detach`, puts back what the first one found.
///
/// Lines of words: "pktpit-state 1", "namespace COOKIE", "device IFINDEX SWITCH=VALUE …". The file is written
/// whole beside its place and renamed into it. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::router {

/// Values by a switch's name, as device_switches.h and linux_below.h have them: numbers.
using SwitchValues = std::map<std::string, std::string, std::less<>>;
constexpr std::string_view vlan_offload_switch = "receive_vlan_offload";
/// What the router turns. A file that names others is not the daemon's, and nothing is written on its word.
constexpr std::array<std::string_view, 12> known_switches{
    "forwarding",        "keep_addr_on_down",  "accept_redirects",   "accept_redirects_of_all",
    vlan_offload_switch, "disable_ipv6",       "arp_ignore",         "rp_filter",
    "ipv4_forwarding",   "ipv4_gc_stale_time", "ipv6_gc_stale_time", "promote_secondaries"};

struct RunState {
    uint64_t network_namespace = 0;             ///< SO_NETNS_COOKIE: one never comes again
    std::map<uint32_t, SwitchValues> switches;  ///< by ifindex
    bool operator==(const RunState&) const = default;
};

std::string to_text(const RunState& state);
/// Error: the line that is none of the format, of a version that is not known, of a switch that nobody turns.
Result<RunState> parse_run_state(std::string_view text, const std::string& where);

/// Its text. Nothing: there is no file.
Result<std::optional<std::string>> read_run_state_file(const std::string& path);
Result<std::optional<RunState>> load_run_state(const std::string& path);
Result<void> save_run_state(const std::string& path, const RunState& state);

/// This thread's network namespace; 0: the kernel does not say (older than 5.14).
uint64_t current_network_namespace();

}  // namespace pktpit::router
