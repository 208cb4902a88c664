// SPDX-License-Identifier: BSD-3-Clause
/// Bytes of one netlink message → a KernelEvent. Pure; any thread. The bytes are untrusted: a truncated or
/// wrongly sized attribute is an answer (Skip::malformed), never an over-read. Called by NetlinkKernel and by
/// the fuzzer.
#pragma once

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "router/kernel/kernel.h"

namespace pktpit::router {

/// IFA_PROTO of the addresses that this daemon sets: a restart recognises them by it. 0–3 are the kernel's
/// (linux/if_addr.h); 112 is 'p', in no distribution's rt_addrprotos.
constexpr uint8_t address_protocol = 112;

/// Why a message is no event.
enum class Skip : uint8_t {
    not_ours,     ///< another family, a cached route, a multicast neighbour: nothing that a router follows
    malformed,    ///< lengths or values that contradict each other
    unsupported,  ///< a neighbour without a 6-byte address
};

/// `message`: one message with its nlmsghdr, at an address divisible by 4; nlmsg_len at most message.size().
tl::expected<KernelEvent, Skip> parse(std::span<const std::byte> message);

namespace netlink {
using Parsed = tl::expected<KernelEvent, Skip>;
struct Message {
    uint16_t type = 0;
    uint16_t flags = 0;
    std::span<const std::byte> payload;  ///< behind the nlmsghdr
};
Parsed parse_link(const Message& message);
Parsed parse_address(const Message& message);
Parsed parse_neighbour(const Message& message);
Parsed parse_route(const Message& message);
Parsed parse_nexthop(const Message& message);
Parsed parse_rule(const Message& message);
}  // namespace netlink

}  // namespace pktpit::router
