// SPDX-License-Identifier: BSD-3-Clause
/// What rows 5 and 6 share: contenders, their settings, what limits a run. One thread.
#pragma once

#include "offload/model/check.h"

namespace pktpit::model {

struct Contender {
    const char* name;
    Program program;
    Transfer transfer;
};

inline constexpr Contender l3fwd_contender{"l3fwd", Program::l3fwd, Transfer::write};
inline constexpr Contender pktpit_contender{"pktpit write", Program::pktpit, Transfer::write};

/// 64 to 1,518 B frames from each of `ports` ports of NIC 0 to the same of NIC 1.
ExperimentSettings settings_for(const Contender& contender, uint32_t size, unsigned ports, double load);
/// The same from one port to one port with real lookups.
ExperimentSettings routed(const std::shared_ptr<const RouteTable>& table,
                          const std::shared_ptr<const Destinations>& where, const Contender& contender,
                          uint32_t size, double load);
/// 65,536 destinations, all alike.
std::shared_ptr<const Destinations> spread_over(const std::shared_ptr<const RouteTable>& table);
/// Throws where the experiment cannot be: the program's own topologies and profiles make no such.
ExperimentResult run_checked(const Topology& topology, const Profile& profile,
                             const ExperimentSettings& settings);
double mpps(const ExperimentResult& result);
/// The busiest link, and the CPU.
std::string busiest(const ExperimentResult& result);
/// "line rate", "the CPU", "PCIe nic0 → switch", …: what is used up.
std::string what_limits(const ExperimentResult& result);
/// Median at 64 B, 1 Gbps of the 40, at random times.
double background_latency(const Topology& topology, const Profile& profile, ExperimentSettings settings);

/// How a NIC may write descriptors, which no source says of the research's: each at once, or lines of them.
struct DescriptorHabit {
    unsigned line = 1;   ///< the baseline's receive write-back
    unsigned batch = 1;  ///< the firmware's, of what waits anyway
};
/// A line is 64 bytes: four descriptors of 16, or two of 32 (DPDK commit a08f9cb698c3).
inline constexpr std::array<DescriptorHabit, 4> descriptor_habits = {{{1, 1}, {4, 1}, {1, 4}, {4, 4}}};
inline constexpr const char* habits_source =
    "lines of 1 or 4 descriptors (DPDK commit a08f9cb698c3), of the baseline's NIC and of the firmware";
Profile with_habit(const Profile& profile, const DescriptorHabit& habit);
/// From least to most.
std::pair<double, double> band_of(std::span<const double> values);
/// What limits a run, where that was put in: line rate is exact; the CPU's and the firmware's times are
/// calibrated or put in. A link, tags or memory that is used up comes out: emergent, without a name.
struct Limit {
    Origin origin = Origin::emergent;
    std::string name{};  ///< "line rate", or constants
};
Limit limit_of(const ExperimentResult& result, const Profile& profile, Program program);
/// Of a comparison of runs: exact if all are; emergent if one is; put in if one is; else calibrated.
Limit limit_of_all(const std::vector<Limit>& limits);

/// A result with unknown constants halved and doubled, one at a time.
struct Sensitivity {
    std::string constant;
    double halved = 0, doubled = 0;
};
std::vector<Sensitivity> sensitivity(const Profile& profile, std::initializer_list<const char*> constants,
                                     const std::function<double(const Profile&)>& measure);
/// Those that turn the sign of `nominal`, with commas between them; empty: none does.
std::string turn_sign(const std::vector<Sensitivity>& all, double nominal);
/// The value of one constant, and it alone, at which `measure` gives `wanted`, from an eighth to eight times
/// what it is; nothing: none does. `measure` is monotonic in it.
std::optional<double> value_that_meets(const Profile& profile, const char* constant, double wanted,
                                       const std::function<double(const Profile&)>& measure);

}  // namespace pktpit::model
