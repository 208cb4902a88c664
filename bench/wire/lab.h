/// One forwarder on its own topology, with a generator a family: ready to be measured as often as wanted.
#pragma once

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
    Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const Workload*>& workloads);

    [[nodiscard]] const Forwarder& forwarder() const { return *forwarder_; }
    Sample measure(Family family, Cores cores, const Timing& timing);

  private:
    Topology topology_;
    std::unique_ptr<Forwarder> forwarder_;
    std::map<Family, Generator> generators_;
};

}  // namespace pktpit::bench
