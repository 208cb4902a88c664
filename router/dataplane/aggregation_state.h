// SPDX-License-Identifier: BSD-3-Clause
/// A group of the aggregation service, for people. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pktpit::router {

struct AggregationState {
    struct Worker {
        std::string address;
        bool joined = false;
        bool lost = false;       ///< the last epoch ended with it
        uint16_t port = 0;       ///< that it is behind; 0: it has not joined
        uint64_t packets = 0;    ///< of elements
        uint64_t again = 0;      ///< of those that were there already
        uint64_t last = 0;       ///< chunks that it was the last of
        uint64_t silent_ms = 0;  ///< since it was heard of; of one that has joined
    };
    std::string name;
    std::string type;
    uint16_t udp_port = 0;
    uint16_t slots = 0;
    uint16_t slots_in_use = 0;  ///< that hold a chunk which somebody is missing of
    bool running = false;
    uint16_t epoch = 0;
    uint64_t chunks = 0;
    double chunks_per_second = 0;
    uint64_t answered = 0;  ///< results sent again
    std::vector<std::pair<std::string, uint64_t>> drops;
    std::vector<Worker> workers;
};

}  // namespace pktpit::router
