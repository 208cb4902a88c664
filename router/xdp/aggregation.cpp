// SPDX-License-Identifier: BSD-3-Clause
// Aggregation on the `xdp` dataplane: programs that add while there are groups, and others while there are
// none.
#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/errno_text.h"
#include "router/xdp/dataplane.h"

namespace pktpit::router {

Result<void> XdpDataplane::begin_sums() {
    auto opened = Sums::open(pins_, maps_.counters, [this] { barrier_.wait(); });
    if (!opened) return tl::unexpected(opened.error());
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, (*opened)->descriptor(), &event) != 0)
        return fail("epoll", "cannot watch for workers: " + errno_text(errno));
    sums_ = std::move(*opened);
    auto swapped = set_targets()
                       ? swap_programs()
                       : fail("tx_ports", "a port's device takes no egress program: " + errno_text(errno));
    // Before commit() they have the names of those that an earlier daemon has left, or none.
    if (swapped && committed_) swapped = sums_->pin(pins_);
    if (swapped && committed_) sums_->settle();
    if (!swapped) end_sums();
    return swapped;
}

// The programs first, then what they look at.
void XdpDataplane::end_sums() {
    const std::unique_ptr<Sums> sums = std::move(sums_);
    // One that cannot be exchanged goes on with maps that have no group.
    if (auto swapped = swap_programs(); !swapped) spdlog::warn("{}", swapped.error().to_string());
    if (!set_targets()) spdlog::warn("tx_ports: an egress program stays: {}", errno_text(errno));
    if (committed_) SumMaps::unpin(pins_);
}

Result<void> XdpDataplane::set_aggregation(const config::AggregationGroups& wanted) {
    const bool begins = !sums_ && !wanted.empty();
    if (begins)
        if (auto begun = begin_sums(); !begun) return begun;
    if (!sums_) return {};
    auto done = sums_->configure(wanted);
    if (done ? wanted.empty() : begins) end_sums();
    return done;
}

std::vector<AggregationState> XdpDataplane::aggregation() const {
    return sums_ ? sums_->state(std::chrono::nanoseconds(monotonic_nanoseconds()))
                 : std::vector<AggregationState>();
}

}  // namespace pktpit::router
