// SPDX-License-Identifier: BSD-3-Clause
/// A routing table for experiments, as a FIB image (fib/image.h), and destinations drawn from it. Programs
/// look real addresses up in real images: the CPU in the whole one, a NIC in one that lies in its own memory
/// and holds as much as fits. IPv4. Immutable once made; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/huge_memory.h"
#include "fib/image.h"
#include "fib/reader.h"
#include "offload/model/firmware.h"

namespace pktpit::model {

class RouteTable {
  public:
    /// The IPv4 routes of a file (any form of docs/tables.md), at most `most` of them, chosen evenly; 0: all.
    /// Errors: of the file; no IPv4 routes; they do not fit into an image.
    static Result<std::shared_ptr<const RouteTable>> open(const std::string& path, size_t most = 0);
    /// As many with the Internet's prefix lengths; 0: as many as the Internet has.
    static Result<std::shared_ptr<const RouteTable>> generate(size_t most = 0);

    [[nodiscard]] const std::string& origin() const { return origin_; }
    [[nodiscard]] const std::vector<Prefix>& prefixes() const { return prefixes_; }
    [[nodiscard]] size_t next_hops() const { return next_hops_; }
    [[nodiscard]] const fib::FibImage& image() const { return *image_; }
    /// The next hop's number, from 1; 0: no route.
    [[nodiscard]] uint32_t next_hop(uint32_t address) const;

  private:
    struct Route {
        Prefix prefix;
        uint32_t next_hop;
    };
    static Result<std::shared_ptr<const RouteTable>> make(std::vector<Route> routes, size_t most,
                                                          std::string origin);

    std::string origin_;
    std::vector<Prefix> prefixes_;
    size_t next_hops_ = 0;
    HugeMemory memory_;
    std::optional<fib::FibImage> image_;
    std::optional<fib::FibReader> reader_;
};

/// Where packets go: addresses from the table's prefixes, some more often than others.
class Destinations {
  public:
    /// `zipf`: the k-th is asked for with a share proportional to 1 / k^zipf; 0: all alike.
    Destinations(const RouteTable& table, size_t count, double zipf, uint64_t seed);
    /// The n-th packet's of a stream: always the same.
    [[nodiscard]] uint32_t index(uint64_t stream, uint64_t number) const;
    /// In the order of their shares, the largest first.
    [[nodiscard]] const std::vector<uint32_t>& addresses() const { return addresses_; }
    [[nodiscard]] uint32_t next_hop(uint32_t index) const { return next_hops_[index]; }

  private:
    std::vector<uint32_t> addresses_;
    std::vector<uint32_t> next_hops_;
    std::vector<double> shares_;  ///< of the alias method (Walker, Vose)
    std::vector<uint32_t> aliases_;
};

/// The ports that next hops are behind: number k behind the one at (k - 1) modulo their count.
using EgressPorts = std::vector<std::pair<uint16_t, uint16_t>>;  ///< NIC, port
Egress egress_of(uint32_t next_hop, const EgressPorts& ports);

/// Decides by the whole table.
class TableDecider : public Decider {
  public:
    TableDecider(const RouteTable& table, EgressPorts ports) : table_(table), ports_(std::move(ports)) {}
    Egress decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) override;

  private:
    const RouteTable& table_;
    EgressPorts ports_;
};

/// Decides by what fits into a NIC's memory: blocks of addresses with a common next hop, so that no shorter
/// prefix hides a longer one, for the destinations that are asked for most.
class NicFib : public Decider {
  public:
    /// How much memory its image takes, from a 64-byte boundary on.
    static uint64_t bytes_for(uint64_t table_bytes, size_t ports);
    /// `memory`: the device's, bytes_for(). It is filled until a block does not fit.
    NicFib(std::span<std::byte> memory, uint64_t table_bytes, const RouteTable& table,
           const Destinations& destinations, EgressPorts ports);
    Egress decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) override;
    [[nodiscard]] size_t blocks() const { return blocks_; }
    [[nodiscard]] bool full() const { return full_; }

  private:
    EgressPorts ports_;
    std::optional<fib::FibImage> image_;
    std::optional<fib::FibReader> reader_;
    size_t blocks_ = 0;
    bool full_ = false;
};

}  // namespace pktpit::model
