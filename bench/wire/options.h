// SPDX-License-Identifier: BSD-3-Clause
/// What the command line of bench_wire asks for.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/common_options.h"

namespace pktpit::bench::wire {

struct Options : harness::CommonOptions, harness::RoundOptions {
    std::vector<Family> families{Family::ipv4, Family::ipv6};
    std::vector<harness::Cores> cores;
    std::vector<std::string> forwarders{"pktpit", "kernel", "fib-lookup", "fixed"};
    std::vector<unsigned> frame_sizes{64};
    std::vector<harness::Traffic> traffic{harness::Traffic::uniform};
    unsigned busy_budget = 0;  ///< of net_af_xdp
    std::vector<harness::Table> tables;
    std::vector<size_t> routes{16384};
    std::string pktpitd;
    std::string before;         ///< another build's, for the rows before-…
    bool kill_restart = false;  ///< that test instead of the comparison
    unsigned kills = 3;
    bool idle = false;     ///< instead: what polling costs without traffic
    bool profile = false;  ///< and where the cores' time goes
    bool all = false;      ///< the rows are the program's choice
};

harness::Parsed<Options> parse_options(int argc, char** argv);

}  // namespace pktpit::bench::wire
