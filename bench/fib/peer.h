// SPDX-License-Identifier: BSD-3-Clause
/// A lookup structure under measurement, loaded with one table. The measuring thread calls everything but
/// look_up() and quiescent(), which the reader's thread of the churn benchmark calls as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/fib/address.h"
#include "bench/fib/packet_buffers.h"
#include "bench/fib/table.h"
#include "bench/fib/updates.h"

namespace pktpit::bench::fib {

template <LookupAddress Address>
class Peer {
  public:
    Peer() = default;
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Its ways to look up that this machine can do; at least one.
    [[nodiscard]] virtual std::vector<std::string> settings() const = 0;
    virtual void choose(size_t setting) = 0;

    /// Looks all up (a multiple of batch_size), batch by batch. A checksum of the answers.
    virtual uint64_t look_up(std::span<const Address> destinations) const = 0;
    /// All packets in the buffers: destinations from headers, answers into metadata.
    virtual void forward(PacketBuffers<Address>& buffers) const = 0;
    /// The same lookups, with each answer as a group id.
    virtual void answer(std::span<const Address> destinations, std::span<uint32_t> groups) const = 0;
    /// A next hop that forward() left, as a group id.
    [[nodiscard]] virtual uint32_t group_of(uint32_t next_hop) const { return next_hop; }

    /// Before a sequence of updates, off the clock: some must load their table anew now and then.
    virtual void before_updates() {}
    /// Throws Failure if a route is refused. Withdrawing what is not there is no failure.
    virtual void apply(const Update& update) = 0;

    /// A reader in another thread begins, has no lookup under way, ends.
    virtual void reader_begins() {}
    virtual void quiescent() {}
    virtual void reader_ends() {}

    struct Part {
        std::string name;
        double bytes = 0;
    };
    /// What lookups read.
    [[nodiscard]] virtual std::vector<Part> size() const = 0;
};

/// A kind of peer: main() makes one instance per run, the load benchmark one per measurement.
template <LookupAddress Address>
struct PeerKind {
    std::string name;
    std::string description;
    /// Makes one that holds the table. Throws Failure.
    std::function<std::unique_ptr<Peer<Address>>(const Table&)> make;
    /// Measured in the load and churn benchmarks too.
    bool takes_updates = false;
};

}  // namespace pktpit::bench::fib
