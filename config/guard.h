// SPDX-License-Identifier: BSD-3-Clause
/// What guards interfaces and the host, as configured: how sources of packets are checked (uRPF, RFC 3704),
/// and the rates that they may come at. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pktpit::config {

enum class Rpf : uint8_t { off, loose, strict };

/// What may come in by an interface.
struct Rate {
    uint64_t bits_per_second = 0;  ///< of whole frames, without FCS
    uint64_t burst_bytes = 0;      ///< that may come at once
    bool operator==(const Rate&) const = default;
};

/// Packets a second to the host; absent: as many as come.
struct HostPolice {
    std::optional<uint32_t> arp{};  ///< and IPv6 neighbour discovery
    std::optional<uint32_t> icmp{};
    std::optional<uint32_t> bgp{};
    std::optional<uint32_t> other{};
    [[nodiscard]] bool any() const { return arp || icmp || bgp || other; }
    bool operator==(const HostPolice&) const = default;
};

/// "100 Mbit/s", "64 kbit/s", "2.5 Gbit/s", "9600 bit/s": bits a second. Absent: it is no rate, or one below
/// `least_rate` or above `most_rate`.
std::optional<uint64_t> parse_rate(std::string_view text);
std::string rate_text(uint64_t bits_per_second);
constexpr uint64_t least_rate = 1'000;
constexpr uint64_t most_rate = 1'000'000'000'000;

/// Bytes that may come at once where nothing else is said: those of 50 ms, and at least 32 KiB.
uint64_t default_burst(uint64_t bits_per_second);
/// The longest frame that any port takes fits.
constexpr uint64_t least_burst = 2'000;
constexpr uint64_t most_burst = uint64_t{1} << 32;

}  // namespace pktpit::config
