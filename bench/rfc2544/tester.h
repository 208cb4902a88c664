// SPDX-License-Identifier: BSD-3-Clause
/// The trials themselves: paced traffic through one forwarder in its lab, counted by the sink. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/workload.h"
#include "bench/rfc2544/search.h"
#include "bench/wire/lab.h"

namespace pktpit::bench::rfc2544 {

struct Latency {
    double share = 0;  ///< of the throughput without loss, which was offered
    double median_us = 0;
    double p99_us = 0;
    double p999_us = 0;
};

class Tester {
  public:
    /// The lab, and with it the forwarder, is the caller's.
    Tester(wire::Lab& lab, harness::Cores cores) : lab_(lab), cores_(cores) {}

    /// What is sent from now on.
    void aim(const harness::Workload& workload, unsigned frame_bytes, bool mix);
    /// Frames a second that arrive when as many are sent as arrive.
    double closed_loop_rate(std::chrono::milliseconds time);
    Trial trial(double load, double seconds);
    Latency latency(double share, double load, double seconds);
    /// The longest burst, up to `most` frames sent as fast as the generator can, of which none is lost.
    uint64_t back_to_back(uint64_t most);
    /// What the sink found wrong since the last look; empty if nothing.
    std::string take_faults() { return std::exchange(faults_, {}); }

  private:
    bool survives(uint64_t frames);

    wire::Lab& lab_;
    harness::Cores cores_;
    std::string faults_;
};

}  // namespace pktpit::bench::rfc2544
