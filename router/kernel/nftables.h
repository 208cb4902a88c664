// SPDX-License-Identifier: BSD-3-Clause
/// Which chains of nftables have something to say about packets that the kernel forwards. What Pktpit
/// forwards does not pass there. Any thread; asks by a connection of its own and waits for the answer. Needs
/// CAP_NET_ADMIN.
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

/// A base chain of the forward hook that has rules, or drops what none decides about.
struct ForwardChain {
    std::string name;    ///< "inet fw forward": family, table, chain
    uint32_t rules = 0;  ///< and jumps to it
    bool drops = false;  ///< by its policy
    bool operator==(const ForwardChain&) const = default;
};

/// Of this thread's network namespace; none where the kernel has no nftables. Errors: the kernel does not
/// answer.
Result<std::vector<ForwardChain>> nftables_forward_chains();

/// One message of a dump of chains. nullopt: another chain, or no message of that kind. The whole message is
/// in memory.
std::optional<ForwardChain> parse_forward_chain(const nlmsghdr* message);

}  // namespace pktpit::router
