// SPDX-License-Identifier: BSD-3-Clause
/// Random FIB contents and random frames that fit them: valid ones of every kind, then broken in every way
/// that a field can be. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "fib/image.h"

namespace pktpit::test {

using Bytes = std::vector<uint8_t>;

class Random {
  public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    uint64_t bits() { return engine_(); }
    /// 0 … below-1
    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(engine_() % bound); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    uint8_t byte() { return static_cast<uint8_t>(engine_()); }
    uint16_t word() { return static_cast<uint16_t>(engine_()); }
    template <class Container>
    const auto& pick(const Container& from) {
        return from[below(static_cast<uint32_t>(std::size(from)))];
    }

  private:
    std::mt19937_64 engine_;
};

/// What was written into the image, for frames to aim at.
struct RandomFib {
    struct Vlan {
        uint16_t outer, inner;
    };
    std::vector<Prefix> prefixes4;
    std::vector<Prefix> prefixes6;
    std::vector<IpAddress> noted4;  ///< sources that are worth a lookup, whatever it says
    std::vector<IpAddress> noted6;
    std::vector<Vlan> vlans;  ///< vlans_per_port of port 1, then of port 2, …
};

inline constexpr uint16_t random_ports = 4;  ///< ports 1 … 4 receive and send
inline constexpr uint32_t vlans_per_port = 4;

/// With several tables: the same prefixes, and others, lead elsewhere by each of them, and each interface has
/// one of the tables.
inline constexpr uint32_t random_tables = 3;

/// Room for random groups, whose uneven weights take many buckets.
fib::Capacity random_capacity();

/// Fills an empty image: ports, VLANs, every kind of adjacency, groups of 0 to 5 members, nested prefixes.
RandomFib fill_randomly(fib::FibImage& image, std::byte* base, Random& random, uint32_t tables = 1);

struct RandomFrame {
    uint16_t port = 1;
    Bytes bytes;  ///< at least an Ethernet header: the kernel's test run takes no less
};
RandomFrame random_frame(const RandomFib& fib, Random& random);

}  // namespace pktpit::test
