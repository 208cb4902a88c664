// SPDX-License-Identifier: BSD-3-Clause
/// IPv4 options that a router acts on: record route and timestamp (RFC 791 section 3.1, RFC 1812 5.3.13).
/// Source routes never get here: forward() drops them. Unknown options pass unchanged.
#pragma once

#include <functional>
#include <optional>

#include "router/forward/packet.h"

namespace pktpit::router {

inline constexpr uint8_t option_end = 0;
inline constexpr uint8_t option_no_operation = 1;
inline constexpr uint8_t option_record_route = 7;
inline constexpr uint8_t option_timestamp = 68;
inline constexpr uint8_t option_copied = 0x80;

/// Visits each option but end and no-operation, whole; stops in front of one that is malformed.
void for_each_option(Bytes header, const std::function<void(Bytes option)>& visit);

/// The byte of the header that a parameter problem has to point at, or nullopt if all options are well
/// formed: the type octet of a duplicate or of an option without a length, the length octet of a wrong
/// length, the pointer octet of a pointer too small or of a slot that is cut off, the overflow octet of a
/// counter at 15.
std::optional<uint8_t> malformed_option(Bytes header);

struct OptionsContext {
    /// Address of the interface by which the packet leaves; nullopt: none, nothing is recorded.
    std::optional<IpAddress> egress_address;
    uint32_t milliseconds_since_midnight = 0;  ///< UTC
    std::function<bool(const IpAddress&)> is_own;
};

struct OptionsDone {
    bool recorded_route = false;
    bool timestamped = false;
    bool timestamp_overflow = false;
};

/// Fills in the router's part. `header` must have passed malformed_option(). Leaves the checksum to the
/// caller.
OptionsDone process_options(std::span<uint8_t> header, const OptionsContext& context);

/// Overwrites all options with no-operation and corrects the checksum: forward() then decides about the
/// packet as if it had none.
void neutralise_options(std::span<uint8_t> header);

}  // namespace pktpit::router
