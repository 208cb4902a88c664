#include "bench/wire/lab.h"

namespace pktpit::bench {

Lab::Lab(unsigned number, std::unique_ptr<Forwarder> forwarder, const std::vector<const Workload*>& workloads)
    : topology_(number), forwarder_(std::move(forwarder)) {
    forwarder_->attach(topology_, workloads);
    for (const Workload* workload : workloads) {
        const Family family = workload->prefixes.front().address.family;
        sources_.emplace(family, Source{Generator(topology_, family, workload->destinations),
                                        static_cast<uint32_t>(workload->destinations.size())});
    }
}

Sample Lab::measure(Family family, Cores cores, const Timing& timing) {
    Source& source = sources_.at(family);
    return bench::measure(topology_, family, source.generator, source.flows, cores, timing);
}

}  // namespace pktpit::bench
