// SPDX-License-Identifier: BSD-3-Clause
/// The CPU's time for a packet, from what this machine measured: `bench_cpu --json` forwards on one core from
/// memory to memory, by l3fwd and by Pktpit's own loop. Pure; any thread.
#pragma once

#include <string_view>

#include "offload/model/profile.h"

namespace pktpit::model {

/// Sets cpu.packet_ns from the faster of l3fwd lpm and l3fwd fib and cpu.slice_packet_ns from Pktpit's, of
/// the IPv4 panel with the most routes, and cpu.burst_ns to 0, since a rate contains it; each with where it
/// is from. Bytes are not trusted. Errors: not what bench_cpu writes, no such rows, a rate that cannot be.
Result<void> take_cpu_times(Profile& profile, std::string_view json_text, const std::string& name);

}  // namespace pktpit::model
