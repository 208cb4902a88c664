// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/peer.h"

#include <charconv>

#include "base/quoted.h"

namespace pktpit::fib {

std::string Peer::to_string() const {
    return address.to_string() + " AS" + std::to_string(as);
}

Result<PeerSelector> PeerSelector::parse(std::string_view text) {
    std::string_view digits = text;
    const bool is_as =
        text.size() > 2 && (text[0] == 'A' || text[0] == 'a') && (text[1] == 'S' || text[1] == 's');
    if (is_as) digits.remove_prefix(2);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size())
        return PeerSelector(is_as ? Wanted(As{number}) : Wanted(size_t{number}));
    if (const auto address = IpAddress::parse(text)) return PeerSelector(*address);
    return fail({}, quoted(text) + " is no peer",
                "an address, AS64500, or a number from the table's list of peers");
}

bool PeerSelector::matches(const Peer& peer, std::optional<size_t> index) const {
    if (const auto* address = std::get_if<IpAddress>(&wanted_)) return *address == peer.address;
    if (const auto* as = std::get_if<As>(&wanted_)) return as->number == peer.as;
    return index == std::get<size_t>(wanted_);
}

std::optional<size_t> PeerSelector::index() const {
    const auto* place = std::get_if<size_t>(&wanted_);
    return place ? std::optional(*place) : std::nullopt;
}

std::string PeerSelector::to_string() const {
    if (const auto* address = std::get_if<IpAddress>(&wanted_)) return address->to_string();
    if (const auto* as = std::get_if<As>(&wanted_)) return "AS" + std::to_string(as->number);
    return std::to_string(std::get<size_t>(wanted_));
}

}  // namespace pktpit::fib
