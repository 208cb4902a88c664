// SPDX-License-Identifier: BSD-3-Clause
/// The loops around a peer's batch lookup: the same for all peers, so that only the lookup differs.
#pragma once

#include <cstdint>
#include <span>

#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// Derived has look_up_batch(const Address* from, NextHop* to) const for batch_size addresses, and
/// to_group(NextHop).
template <class Derived, LookupAddress Address, class NextHop>
class BatchPeer : public Peer<Address> {
  public:
    uint64_t look_up(std::span<const Address> destinations) const final {
        alignas(64) NextHop next_hops[batch_size];
        uint64_t sum = 0;
        for (size_t i = 0; i < destinations.size(); i += batch_size) {
            derived().look_up_batch(destinations.data() + i, next_hops);
            // All of the answers must be there; adding them all up would take as long as a fifth of the
            // fastest lookups.
            asm volatile("" : : "r"(next_hops) : "memory");
            sum += next_hops[0] + next_hops[batch_size - 1];
        }
        return sum;
    }

    void forward(PacketBuffers<Address>& buffers) const final {
        alignas(64) Address destinations[batch_size];
        alignas(64) NextHop next_hops[batch_size];
        for (size_t i = 0; i < buffers.size(); i += batch_size) {
            buffers.gather(i, destinations);
            derived().look_up_batch(destinations, next_hops);
            buffers.scatter(i, next_hops);
        }
    }

    void answer(std::span<const Address> destinations, std::span<uint32_t> groups) const final {
        NextHop next_hops[batch_size];
        for (size_t i = 0; i < destinations.size(); i += batch_size) {
            derived().look_up_batch(destinations.data() + i, next_hops);
            for (size_t j = 0; j < batch_size; j++)
                groups[i + j] = derived().to_group(next_hops[j]);
        }
    }

    [[nodiscard]] uint32_t group_of(uint32_t next_hop) const final { return derived().to_group(next_hop); }

  private:
    [[nodiscard]] const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

}  // namespace pktpit::bench::fib
