// SPDX-License-Identifier: BSD-3-Clause
/// One forwarder on its own topology, with a generator: ready to be
/// measured as often as wanted.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/generator.h"
#include "bench/harness/measurement.h"
#include "bench/harness/workload.h"
#include "bench/wire/forwarder.h"

namespace pktpit::bench::wire {

class Lab {
  public:
    /// Routes: one workload a family.
    Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const harness::Workload*>& routes);

    [[nodiscard]] const Forwarder& forwarder() const { return *forwarder_; }
    /// What is sent from now on; its routes must be those that the forwarder has.
    void aim(const harness::Workload& workload, const harness::FrameShape& shape);
    harness::Sample measure(harness::Cores cores, const harness::Timing& timing);
    struct Paced {
        uint64_t sent = 0;
        uint64_t arrived = 0;
        double seconds = 0;  ///< that the generator took
        std::string faults;
        std::vector<uint64_t> latencies;  ///< buckets
    };
    /// Evenly spaced frames, `rate` a second, for `time`, `most` of them at most (0: no end).
    Paced send_paced(harness::Cores cores, unsigned batch, double rate, std::chrono::duration<double> time,
                     uint64_t most);
    /// perf's samples of the forwarder's process under the same traffic, as `perf script` prints them.
    std::string sample_stacks(harness::Cores cores, std::chrono::seconds time);

  private:
    harness::Topology topology_;
    std::unique_ptr<Forwarder> forwarder_;
    Family family_ = Family::ipv4;
    std::optional<harness::Generator> generator_;
};

}  // namespace pktpit::bench::wire
