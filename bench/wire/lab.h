/// One forwarder on its own topology, with a generator for each family and size of frames: ready to be
/// measured as often as wanted.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "bench/harness/generator.h"
#include "bench/harness/measurement.h"
#include "bench/harness/workload.h"
#include "bench/wire/forwarder.h"

namespace pktpit::bench {

class Lab {
  public:
    /// Workloads must outlive the lab. One a family.
    Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const Workload*>& workloads,
        const std::vector<unsigned>& frame_sizes = {64});

    [[nodiscard]] const Forwarder& forwarder() const { return *forwarder_; }
    /// `frame_bytes`: one of the sizes.
    Sample measure(Family family, unsigned frame_bytes, Cores cores, const Timing& timing);

    /// perf's samples of the forwarder's process under the same traffic, as `perf script` prints them.
    std::string sample_stacks(Family family, unsigned frame_bytes, Cores cores, std::chrono::seconds time);

  private:
    Topology topology_;
    std::unique_ptr<Forwarder> forwarder_;
    std::map<std::pair<Family, unsigned>, Generator> generators_;
};

}  // namespace pktpit::bench
