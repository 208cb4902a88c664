#include "bench/wire/lab.h"

namespace pktpit::bench {

Lab::Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const Workload*>& workloads)
    : forwarder_(std::move(forwarder)) {
    forwarder_->attach(topology_, workloads);
    for (const Workload* workload : workloads) {
        const Family family = workload->prefixes.front().address.family;
        generators_.emplace(family, Generator(topology_, family, workload->destinations));
    }
}

Sample Lab::measure(Family family, Cores cores, const Timing& timing) {
    return bench::measure(topology_, family, generators_.at(family), cores, timing);
}

}  // namespace pktpit::bench
