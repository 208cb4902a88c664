// SPDX-License-Identifier: BSD-3-Clause
// A datagram of netlink messages, parsed and followed. Must hold: no read outside the message, whatever its
// lengths say (AddressSanitizer watches each message in an allocation of its own); and the listener always
// knows exactly what the tables hold. A message of type NLMSG_NOOP (1) begins a resync, NLMSG_DONE (3) ends
// it, NLMSG_ERROR (2) breaks it off; from NLMSG_OVERRUN (4) on changes are settled one step at a time.
#include <linux/netlink.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "router/kernel/kernel_state.h"
#include "router/kernel/nftables.h"
#include "router/kernel/parse.h"
#include "router/kernel/socket.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;

class Mirror : public KernelListener {
  public:
    void link_changed(const LinkEvent& link, const LinkEvent* before) override {
        demand((before != nullptr) == links.contains(link.ifindex));
        links[link.ifindex] = link;
    }
    void link_removed(const LinkEvent& link) override { demand(links.erase(link.ifindex) == 1); }
    void neighbour_changed(const NeighbourEvent& neighbour) override {
        neighbours[{neighbour.ifindex, neighbour.address}] = neighbour;
    }
    void neighbour_removed(const NeighbourEvent& neighbour) override {
        demand(neighbours.erase({neighbour.ifindex, neighbour.address}) == 1);
    }
    void route_set(const Prefix& prefix, const KernelRoute& route) override { routes[prefix] = route; }
    void route_removed(const Prefix& prefix) override { demand(routes.erase(prefix) == 1); }

    std::map<uint32_t, LinkEvent> links;
    std::map<std::pair<uint32_t, IpAddress>, NeighbourEvent> neighbours;
    std::map<Prefix, KernelRoute> routes;
};

void compare(const KernelState& state, const Mirror& mirror) {
    demand(state.links().size() == mirror.links.size());
    for (const LinkEvent& link : state.links())
        demand(mirror.links.at(link.ifindex) == link);
    demand(state.neighbours().size() == mirror.neighbours.size());
    size_t routes = 0;
    state.routes().for_each([&](const Prefix& prefix, const KernelRoute& route) {
        ++routes;
        const auto known = mirror.routes.find(prefix);
        demand(known != mirror.routes.end() && known->second == route);
    });
    demand(routes == mirror.routes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Mirror mirror;
    KernelState state(RouteFilter{true, 254, {}}, mirror);
    bool resyncing = false;
    bool in_turns = false;
    netlink::for_each_message({reinterpret_cast<const std::byte*>(data), size}, [&](auto message) {
        const auto exact = std::make_unique<std::byte[]>(message.size());
        std::memcpy(exact.get(), message.data(), message.size());
        nlmsghdr header;
        std::memcpy(&header, exact.get(), sizeof header);
        (void)parse_forward_chain(reinterpret_cast<const nlmsghdr*>(exact.get()));
        if (header.nlmsg_type == NLMSG_NOOP) {
            state.consume(ResyncBegin{});
            resyncing = true;
        } else if (header.nlmsg_type == NLMSG_DONE) {
            state.consume(ResyncEnd{});
            resyncing = false;
        } else if (header.nlmsg_type == NLMSG_ERROR) {
            state.consume(ResyncEnd{false});
            resyncing = false;
        } else if (header.nlmsg_type == NLMSG_OVERRUN) {
            in_turns = true;
        } else if (const auto event = parse({exact.get(), message.size()})) {
            state.consume(*event);
        }
        Turn turn = in_turns ? Turn::of_steps(1) : Turn::whole();
        const bool more = state.settle(turn);
        if (!resyncing && !more) compare(state, mirror);
    });
    if (resyncing) state.consume(ResyncEnd{});
    state.settle();
    compare(state, mirror);
    return 0;
}
