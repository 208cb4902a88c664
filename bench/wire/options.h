/// What the command line of bench_wire asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/workload.h"

namespace pktpit::bench::wire {

struct Options {
    std::vector<Family> families{Family::ipv4, Family::ipv6};
    std::vector<harness::Cores> cores{harness::Cores::two_core, harness::Cores::one_core};
    std::vector<std::string> forwarders{"pktpit", "kernel", "fib-lookup", "fixed"};
    std::vector<unsigned> frame_sizes{64};
    std::vector<harness::Traffic> traffic{harness::Traffic::uniform};
    unsigned busy_budget = 0;  ///< of net_af_xdp
    std::vector<harness::Table> tables{harness::Table::internet, harness::Table::dense};
    std::vector<size_t> routes{16384};
    std::string data;
    unsigned rounds = 7;
    harness::Timing timing;
    std::string json;
    std::string results;  ///< folder for all files of the run; empty: none
    std::string pktpitd;
    bool kill_restart = false;  ///< that test instead of the comparison
    unsigned kills = 3;
    bool idle = false;     ///< instead: what polling costs without traffic
    bool profile = false;  ///< and where the cores' time goes
    bool all = false;      ///< the rows are the program's choice
    std::string command;
};

/// nullopt: the process ends with `exit_code` (help was asked for, or the arguments were wrong, and that was
/// said).
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace pktpit::bench::wire
