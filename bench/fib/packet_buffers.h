// SPDX-License-Identifier: BSD-3-Clause
/// Packet buffers as a poll-mode driver hands them out: a metadata line, headroom, then the frame, at mbufs'
/// distances, in the shuffled order that a mempool comes to. Reading destinations from there and writing
/// results back costs cache that the lookup structure would like to have: every peer pays it in the same
/// code. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/fib/address.h"
#include "bench/fib/measured_memory.h"

namespace pktpit::bench::fib {

template <LookupAddress Address>
class PacketBuffers {
  public:
    /// `count`: a multiple of batch_size.
    PacketBuffers(size_t count, uint64_t seed);

    /// Writes destinations[i] into the header of the i-th packet. In the buffers' order in memory, which is
    /// not that of the packets: what the caches keep of it is spread over all packets. As many as there are
    /// buffers.
    void fill(std::span<const Address> destinations);

    [[nodiscard]] size_t size() const { return packet_at_.size(); }

    /// Destinations of the batch_size packets from `first` on.
    void gather(size_t first, Address* destinations) const;
    /// Writes what the lookup gave into the packets' metadata.
    void scatter(size_t first, const uint32_t* next_hops);
    void scatter(size_t first, const uint64_t* next_hops);
    [[nodiscard]] uint32_t result(size_t packet) const;

  private:
    MeasuredMemory memory_;
    std::vector<std::byte*> packets_;  ///< in the order of packets, the first batch again at the end
    std::vector<uint32_t> packet_at_;  ///< which packet lies in the k-th buffer
};

extern template class PacketBuffers<Address4>;
extern template class PacketBuffers<Address6>;

}  // namespace pktpit::bench::fib
