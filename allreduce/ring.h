// SPDX-License-Identifier: BSD-3-Clause
/// Allreduce without a router: a ring of TCP connections, each worker to the next (reduce-scatter, then
/// allgather; P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms", 2009). What Worker falls
/// back to. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pktpit::allreduce {

class Ring {
  public:
    Ring() = default;
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Connects to the next worker and waits for the one before. `peers`: "ADDRESS:PORT" of each. Why not;
    /// empty: it is there.
    std::string open(const std::vector<std::string>& peers, unsigned worker,
                     std::chrono::milliseconds longest);
    /// Why not; empty: `values` are the sums, the same bits at each worker. An error leaves them undefined,
    /// and the ring unusable.
    std::string sum(std::span<int32_t> values);
    std::string sum(std::span<float> values);

  private:
    std::string exchange(std::span<const std::byte> out, std::span<std::byte> in);
    template <class Number>
    std::string sum_of(std::span<Number> values);
    void close();

    unsigned worker_ = 0, workers_ = 0;
    int next_ = -1, before_ = -1;
    std::vector<std::byte> received_;
};

}  // namespace pktpit::allreduce
