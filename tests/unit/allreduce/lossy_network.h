// SPDX-License-Identifier: BSD-3-Clause
/// Workers' streams and a router between them, over a network in virtual time that loses, doubles and
/// reorders what it carries either way. The router is handed in: a naive one, or the port stage
/// (tests/differential).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "allreduce/stream.h"

namespace pktpit::allreduce::test {

using Datagram = std::vector<uint8_t>;

struct Answer {
    size_t worker = 0;
    Datagram datagram;
};
/// What the router says to a datagram of a worker.
using Router = std::function<std::vector<Answer>(size_t worker, const Datagram&)>;

struct Faults {
    double loss = 0;
    double duplicates = 0;
    double late = 0;  ///< overtaken by up to 300 µs of others
    /// Workers share processors: each runs for so long, and then not for up to three times as long. 0: all
    /// run all the time.
    std::chrono::microseconds turn{};
    /// Datagrams that a worker's socket keeps while it does not run. More are lost.
    size_t room = SIZE_MAX;
};

class LossyNetwork {
  public:
    LossyNetwork(std::vector<Stream*> streams, Router router, const Faults& faults, uint32_t seed)
        : streams_(std::move(streams)),
          router_(std::move(router)),
          faults_(faults),
          random_(seed),
          turns_(streams_.size()) {}

    /// Until all streams are idle. False: they are not after so much virtual time.
    bool run(std::chrono::seconds longest = std::chrono::seconds(600));
    [[nodiscard]] uint64_t lost() const { return lost_; }
    [[nodiscard]] Time now() const { return now_; }

  private:
    struct Carried {
        Time at;
        uint64_t order = 0;
        bool to_router = false;
        size_t worker = 0;
        Datagram datagram;
        bool operator<(const Carried& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    struct Turn {
        Time from, until;  ///< it runs
        std::deque<Datagram> waiting;
    };
    bool runs(Turn& turn);
    void deliver(size_t worker, Datagram datagram);
    void carry(bool to_router, size_t worker, const Datagram& datagram);
    bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }

    std::vector<Stream*> streams_;
    Router router_;
    Faults faults_;
    std::mt19937 random_;
    Time now_{std::chrono::seconds(1000)};
    std::vector<Turn> turns_;
    std::vector<Carried> queue_;  ///< a heap
    uint64_t order_ = 0;
    uint64_t lost_ = 0;
};

}  // namespace pktpit::allreduce::test
