// SPDX-License-Identifier: BSD-3-Clause
/// What the command line of bench_rfc2544 asks for.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/common_options.h"

namespace pktpit::bench::rfc2544 {

struct Options : harness::CommonOptions {
    std::vector<std::string> forwarders{"pktpit", "pktpit-split",    "pktpit-auto",
                                        "kernel", "pktpit-dpdk-xdp", "l3fwd-fib-xdp"};
    std::vector<std::string> frames{"64", "128", "256", "512", "1024", "1280", "1518", "imix"};
    Family family = Family::ipv4;
    harness::Cores cores = harness::Cores::two_core;
    size_t routes = 16384;
    double seconds = 1;  ///< of a trial of full length
    double resolution = 0.02;
    unsigned rounds = 5;  ///< of the latency and loss curve
    std::string pktpitd;
};

harness::Parsed<Options> parse_options(int argc, char** argv);

}  // namespace pktpit::bench::rfc2544
