// SPDX-License-Identifier: BSD-3-Clause
/// The BGP peers of an MRT file, and which of them a reader is to listen to. Plain values, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/address.h"
#include "base/result.h"

namespace pktpit::fib {

struct Peer {
    IpAddress address;
    uint32_t as = 0;
    [[nodiscard]] std::string to_string() const;  ///< "192.0.2.1 AS64500"
};

/// A peer by its address, all peers of an AS, or a peer by its place in the table's list.
class PeerSelector {
  public:
    /// "192.0.2.1", "AS64500", "3".
    static Result<PeerSelector> parse(std::string_view text);
    static PeerSelector of(const IpAddress& address) { return PeerSelector(Wanted(address)); }

    /// `index` is absent in update files, which have no list of peers.
    [[nodiscard]] bool matches(const Peer& peer, std::optional<size_t> index) const;
    /// The place in the list, if the peer is named by it.
    [[nodiscard]] std::optional<size_t> index() const;
    [[nodiscard]] std::string to_string() const;

  private:
    struct As {
        uint32_t number;
    };
    using Wanted = std::variant<IpAddress, As, size_t>;
    explicit PeerSelector(Wanted wanted) : wanted_(wanted) {}
    Wanted wanted_;
};

}  // namespace pktpit::fib
