/// What the command line of bench_cpu asks for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/workload.h"

namespace pktpit::bench::cpu {

struct Options {
    std::vector<Family> families{Family::ipv4};
    std::vector<std::string> rows;
    std::vector<size_t> routes{16384};
    std::vector<harness::Traffic> traffic{harness::Traffic::uniform};
    unsigned frame_bytes = 64;
    unsigned rounds = 7;
    std::chrono::milliseconds warm_up{100};
    std::chrono::milliseconds window{400};
    unsigned core = 1;
    std::string data;
    std::string json;
    std::string results;
    std::string pktpitd;
    std::string command;
};

/// nullopt: the process ends with `exit_code`.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace pktpit::bench::cpu
