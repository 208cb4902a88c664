// Observation on the `vfio` dataplane: all of it is the worker's.
#include "router/vfio/dataplane.h"

namespace pktpit::router {

Result<void> VfioDataplane::observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) {
    on_record_ = std::move(on_record);
    worker_->observe(wanted);
    return {};
}

uint64_t VfioDataplane::lost_observations(uint16_t port) const {
    return worker_->observer() ? worker_->observer()->lost(port) : 0;
}

void VfioDataplane::poll_observations() {
    if (PacketObserver* observer = worker_->observer()) observer->pop(observations_per_poll, on_record_);
}

}  // namespace pktpit::router
