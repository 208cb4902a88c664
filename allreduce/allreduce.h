// SPDX-License-Identifier: BSD-3-Clause
/// Allreduce through a Pktpit router (docs/aggregation.md): the sum of vectors that the workers of a group
/// send, at each of them. For training programs; installed, and needs nothing but the standard library.
///
/// A Worker is one of the group's. Every worker makes the same calls with vectors of the same lengths in the
/// same order. One thread uses it; a second one of its own tells the router, while there is nothing to send,
/// that the worker is alive. Where the router does not answer, and `peers` are given, workers add among
/// themselves, by a ring over TCP: way() says which of the two it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pktpit::allreduce {

struct Options {
    std::string router;     ///< IPv4 address of the router
    uint16_t port = 5005;   ///< the group's
    uint64_t key = 0;       ///< the group's
    unsigned worker = 0;    ///< this one's number, from 0
    unsigned workers = 0;   ///< how many there are; 0: as the router says
    std::string bind = {};  ///< IPv4 address to send from; empty: as routes have it
    /// How long all workers are waited for, and within how much silence of the router the ring is taken.
    std::chrono::milliseconds join_timeout{30000};
    std::chrono::milliseconds router_timeout{2000};
    /// A router that says nothing for so long, while a sum is waited for, is gone.
    std::chrono::milliseconds silence{15000};
    /// "ADDRESS:PORT" of each worker, this one's too, for the ring; empty: there is none.
    std::vector<std::string> peers = {};
    /// Told what a person should know: that the ring is taken, and why.
    std::function<void(std::string_view)> log = {};

    /// For tests: shares of the datagrams that are lost, sent twice and held back, on the way out and in.
    double lose = 0, duplicate = 0, delay = 0;
    uint32_t seed = 1;
};

enum class Failure {
    none,
    setup,        ///< a socket, an address, an option
    no_router,    ///< it does not answer, and there is no ring
    workers,      ///< not all workers have come within join_timeout
    worker_lost,  ///< another worker is lost, or has started anew: join() again
    peer,         ///< of the ring
    too_late,     ///< no sum within the time that wait() was given
};

struct Outcome {
    Failure failure = Failure::none;
    std::string message = {};         ///< for a person
    std::vector<unsigned> lost = {};  ///< workers, with Failure::worker_lost
    explicit operator bool() const { return failure == Failure::none; }
};

enum class Way { none, router, ring };

struct Counts {
    uint64_t sent = 0;      ///< chunks, the first time
    uint64_t again = 0;     ///< chunks, sent again
    uint64_t results = 0;   ///< that were waited for
    uint64_t repeated = 0;  ///< results that were there already
    uint64_t ignored = 0;   ///< datagrams that were none of the router's for this epoch
};

class Worker {
  public:
    explicit Worker(Options options);
    /// Leaves the group.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Waits until all workers have joined. Called again after Failure::worker_lost: what was under way is
    /// forgotten, and all begin with the same call.
    Outcome join();
    [[nodiscard]] Way way() const;
    /// Of this epoch, the same at all workers; another one after each join().
    [[nodiscard]] unsigned epoch() const;
    [[nodiscard]] unsigned workers() const;

    /// The sum of all workers' `in` into `out`, which may be `in`, of a group of type int32. Sums wrap.
    Outcome sum(std::span<const int32_t> in, std::span<int32_t> out);
    /// The same of a group of type bfp16: each `elements` numbers of a chunk are rounded to a common exponent
    /// that leaves room for the sum, in 15 bits less those that count the workers; the sums are the same bits
    /// at each worker. A chunk with an infinity or what is no number becomes NaN. By the ring they are added
    /// in single precision.
    Outcome sum(std::span<const float> in, std::span<float> out);
    /// The same, begun: several may be under way, and are done in order. The vectors live until wait() has
    /// said so. not_begun: they are not as long as each other, or the group adds something else.
    static constexpr uint64_t not_begun = UINT64_MAX;
    uint64_t begin(std::span<const int32_t> in, std::span<int32_t> out);
    uint64_t begin(std::span<const float> in, std::span<float> out);
    /// Until this one, and all that were begun before it, are done.
    Outcome wait(uint64_t begun, std::chrono::milliseconds longest = std::chrono::hours(1));

    [[nodiscard]] Counts counts() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pktpit::allreduce
