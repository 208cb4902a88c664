// SPDX-License-Identifier: BSD-3-Clause
/// What a comparison reads of the kernel: nexthop objects and the routes of one table, one datagram (some
/// hundred routes) a step, beside the events. Between two steps the kernel holds nothing but the place where
/// it goes on. Used by NetlinkKernel; one thread.
///
/// What step() hands on was received one step before: by then every event of what it tells has been sent.
/// The kernel had made it while the datagram before it was received, one more step before.
#pragma once

#include <cstdint>
#include <memory>

#include "router/kernel/kernel.h"
#include "router/kernel/socket.h"

namespace pktpit::router {

class ComparisonDump {
  public:
    static Result<std::unique_ptr<ComparisonDump>> begin(uint32_t table, const Kernel::Deliver& deliver);

    /// Call it when all events that have been sent are delivered. False: that was all.
    Result<bool> step(const Kernel::Deliver& deliver);
    /// An event that has come meanwhile: where routes go, Linux leaves others out of a dump of IPv6.
    void heed(const KernelEvent& event);

  private:
    ComparisonDump(uint32_t table, std::unique_ptr<netlink::Socket> socket)
        : table_(table), socket_(std::move(socket)) {}
    Result<void> begin_kind();
    Result<bool> end_kind(bool disturbed, const Kernel::Deliver& deliver);
    void hand_on(std::span<const std::byte> message, const Kernel::Deliver& deliver) const;

    uint32_t table_;
    std::unique_ptr<netlink::Socket> socket_;
    ComparedKind kind_ = ComparedKind::nexthops;
    unsigned attempt_ = 0;
    bool disturbed_ = false;
};

}  // namespace pktpit::router
