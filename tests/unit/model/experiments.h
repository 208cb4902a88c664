// SPDX-License-Identifier: BSD-3-Clause
/// Experiments for tests: profiles with some constants changed, settings that drain, and what has to hold of
/// every result.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "offload/model/experiment.h"

namespace pktpit::model {

using Constants = std::vector<std::pair<const char*, double>>;

inline Profile with(const char* name, const Constants& constants) {
    Profile profile = *Profile::open(name);
    for (const auto& [constant, value] : constants)
        EXPECT_TRUE(profile.set(constant, value, "test")) << constant;
    return profile;
}

/// Measures from the beginning; traffic is offered for `time`, then all has to come to rest.
inline ExperimentSettings drained(Program program, std::vector<Flow> flows, Time time = 100 * microsecond) {
    ExperimentSettings settings;
    settings.program = program;
    settings.traffic.flows = std::move(flows);
    settings.traffic.stop = settings.duration = time;
    settings.warm_up = 0;
    settings.drain = true;
    return settings;
}

/// Each of two NICs' two ports sends to the other NIC.
inline std::vector<Flow> both_ways(double load) {
    return {{0, 0, 1, 0, load}, {0, 1, 1, 1, load}, {1, 0, 0, 0, load}, {1, 1, 1, 0, load}};
}

inline ExperimentResult run(const Topology& topology, const ExperimentSettings& settings,
                            const Profile& profile = *Profile::open("generic")) {
    auto result = run_experiment(topology, profile, settings);
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
}
inline ExperimentResult run(const char* topology, const ExperimentSettings& settings,
                            const Profile& profile = *Profile::open("generic")) {
    return run(*Topology::open(topology), settings, profile);
}

inline void expect_at_rest(const ExperimentResult& result) {
    EXPECT_TRUE(result.at_rest) << "deadlock or livelock";
    EXPECT_EQ(result.tlps_left, 0U);
    EXPECT_TRUE(result.credits_whole);
}
inline void expect_whole_and_in_order(const ExperimentResult& result) {
    EXPECT_EQ(result.after_draining.damaged, 0U);
    EXPECT_EQ(result.after_draining.doubled, 0U);
    EXPECT_EQ(result.after_draining.reordered, 0U);
}

/// The sums over all NICs.
struct NicSums {
    explicit NicSums(const ExperimentResult& result) {
        for (const NicCounters& nic : result.nics) {
            received += nic.received;
            sent += nic.sent;
            no_slot += nic.no_slot;
            dropped += nic.no_slot + nic.no_route + nic.too_long + nic.dma_errors;
        }
    }
    uint64_t received = 0, sent = 0, no_slot = 0, dropped = 0;
};

/// The name of a case of a test with parameters.
inline std::string name_of(Program program, Transfer transfer) {
    return std::string(to_string(program)) + "_" + std::string(to_string(transfer));
}
inline const auto name_of_case = [](const auto& test) {
    const auto [program, transfer] = test.param;
    return name_of(program, transfer);
};
inline const auto name_of_parameter = [](const auto& test) { return std::string(to_string(test.param)); };

}  // namespace pktpit::model
