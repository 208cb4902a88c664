// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/comparison_dump.h"

#include "router/kernel/dump_requests.h"
#include "router/kernel/parse.h"

namespace pktpit::router {

namespace {

constexpr unsigned attempts = 3;  ///< at each kind

}  // namespace

Result<std::unique_ptr<ComparisonDump>> ComparisonDump::begin(uint32_t table,
                                                              const Kernel::Deliver& deliver) {
    auto socket = netlink::Socket::open();
    if (!socket) return tl::unexpected(socket.error());
    (*socket)->set_option(NETLINK_GET_STRICT_CHK, 1);
    std::unique_ptr<ComparisonDump> dump(new ComparisonDump(table, std::move(*socket)));
    if (auto begun = dump->begin_kind(); !begun) return tl::unexpected(begun.error());
    deliver(ComparisonBegin{});
    return dump;
}

Result<void> ComparisonDump::begin_kind() {
    disturbed_ = false;
    netlink::Request request = kind_ == ComparedKind::nexthops ? netlink::nexthop_dump()
                               : kind_ == ComparedKind::ipv4   ? netlink::route_dump(AF_INET, table_)
                                                               : netlink::route_dump(AF_INET6, table_);
    if (auto begun = socket_->begin_dump(request); !begun) return begun;
    return socket_->receive_dump();
}

Result<bool> ComparisonDump::step(const Kernel::Deliver& deliver) {
    const auto state = socket_->take_dump([&](auto message) { hand_on(message, deliver); });
    if (!state) return tl::unexpected(state.error());
    const bool last = *state != netlink::Socket::DumpState::goes_on;
    deliver(ComparisonPiece{last});
    if (last) return end_kind(disturbed_ || *state == netlink::Socket::DumpState::ended_disturbed, deliver);
    if (auto received = socket_->receive_dump(); !received) return tl::unexpected(received.error());
    return true;
}

Result<bool> ComparisonDump::end_kind(bool disturbed, const Kernel::Deliver& deliver) {
    if (!disturbed || ++attempt_ == attempts) {
        deliver(ComparedAll{kind_, !disturbed});
        attempt_ = 0;
        if (kind_ == ComparedKind::ipv6) {
            deliver(ComparisonEnd{});
            return false;
        }
        kind_ = kind_ == ComparedKind::nexthops ? ComparedKind::ipv4 : ComparedKind::ipv6;
    }
    if (auto begun = begin_kind(); !begun) return tl::unexpected(begun.error());
    return true;
}

void ComparisonDump::hand_on(std::span<const std::byte> message, const Kernel::Deliver& deliver) const {
    const auto parsed = parse(message);
    if (!parsed) return;
    if (const auto* route = std::get_if<RouteEvent>(&*parsed)) {
        if (route->table == table_) deliver(Compared{*route});
    } else if (const auto* nexthop = std::get_if<NextHopEvent>(&*parsed)) {
        deliver(Compared{*nexthop});
    }
}

// fib6_dump_table() begins at the root again when the tree has changed, and skips as many routes as it has
// dumped. They go with devices and addresses, too, of which each version of Linux tells another part.
void ComparisonDump::heed(const KernelEvent& event) {
    if (kind_ != ComparedKind::ipv6) return;
    if (const auto* route = std::get_if<RouteEvent>(&event))
        disturbed_ |= route->removed && route->prefix.address.is_v6();
    else
        disturbed_ |= !std::holds_alternative<NeighbourEvent>(event);
}

}  // namespace pktpit::router
