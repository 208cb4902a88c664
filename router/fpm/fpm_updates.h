// SPDX-License-Identifier: BSD-3-Clause
/// One FPM frame → what it does to the table. zebra says a changed route as a removal and an addition in one
/// frame: this makes one replacement of it, so that no packet in between finds no route. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "router/kernel/kernel.h"

namespace pktpit::router {

class FpmUpdates {
  public:
    class Receiver {
      public:
        virtual ~Receiver() = default;
        virtual void route(const RouteEvent& event) = 0;
        virtual void next_hop(const NextHopEvent& event) = 0;
    };
    struct Counters {
        uint64_t messages = 0;
        uint64_t routes = 0;       ///< added, replaced, removed
        uint64_t next_hops = 0;    ///< next-hop objects, the same
        uint64_t ignored = 0;      ///< no routes and no next hops: MPLS labels, MAC addresses of EVPN
        uint64_t malformed = 0;    ///< lengths or values that contradict each other
        uint64_t unsupported = 0;  ///< routes that also ask for a source prefix or a TOS
    };

    explicit FpmUpdates(Receiver& receiver) : receiver_(receiver) {}

    /// An Error if the frame's messages do not fill it; what they are is not known any more then.
    Result<void> handle(std::span<const std::byte> frame);
    [[nodiscard]] const Counters& counters() const { return counters_; }

  private:
    void handle_message(std::span<const std::byte> message);
    void handle_route(RouteEvent event);
    void remove_pending();

    Receiver& receiver_;
    Counters counters_;
    std::optional<RouteEvent> pending_;  ///< a removal that an addition may follow
};

}  // namespace pktpit::router
