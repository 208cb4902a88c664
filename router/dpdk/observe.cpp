// Observation on the `dpdk` dataplane: all of it is the workers'.
#include "router/dpdk/dataplane.h"

namespace pktpit::router {
namespace {

constexpr size_t observations_per_poll = 1024;

}  // namespace

Result<void> DpdkDataplane::observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) {
    on_record_ = std::move(on_record);
    for (const auto& thread : threads_)
        thread->worker->observe(wanted);
    return {};
}

uint64_t DpdkDataplane::lost_observations(uint16_t port) const {
    uint64_t lost = 0;
    for (const auto& thread : threads_)
        if (const PacketObserver* observer = thread->worker->observer()) lost += observer->lost(port);
    return lost;
}

// What is left waits for the next call, at the latest the next tick's.
void DpdkDataplane::poll_observations() {
    for (const auto& thread : threads_)
        if (PacketObserver* observer = thread->worker->observer())
            observer->pop(observations_per_poll, on_record_);
}

}  // namespace pktpit::router
