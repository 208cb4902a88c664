// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

void check_one(const PlacedAddress& placed, const PlacedInterface& interface, Errors& errors) {
    const InterfaceAddress& value = placed.value;
    std::string text = in_quotes(value.to_string());
    std::string fault = no_host_address(value.address);
    if (!fault.empty()) {
        errors.push_back({placed.where, text + " is " + fault, "a unicast address", ""});
        return;
    }
    if (value.length == 0) {
        errors.push_back(
            {placed.where, text + " makes every address one of this link",
             "the length of the net on this link",
             "for a default route add {\"prefix\": \"" + value.net().to_string() + "\"} to /routes"});
        return;
    }
    if (std::string reserved = reserved_in_net(value.address, value.net()); !reserved.empty())
        errors.push_back({placed.where, text + " is " + reserved, "the address of a host in that net", ""});
    if (value.address.is_v6() && interface.value.mtu && *interface.value.mtu < 1280)
        errors.push_back(
            {at(interface.where, "mtu"),
             "MTU " + std::to_string(*interface.value.mtu) + " on an interface with the IPv6 address " + text,
             "at least 1280 (RFC 8200 5)", ""});
}

/// An address alone, such as a loopback one: it makes no net, and several links may have it.
bool is_alone(const IpAddress& address, unsigned length) {
    return length == address.bits();
}

/// Same net or one inside the other, on different interfaces of one VRF. `nets` are sorted, so that a net
/// comes after all that contain it: those are the ones still open.
void check_overlaps(const ConnectedNets& nets, Errors& errors) {
    std::vector<const ConnectedNets::Net*> open;
    for (const auto& net : nets.all()) {
        if (net.own.is_link_local() || net.prefix.length == 0 || is_alone(net.own, net.prefix.length))
            continue;
        while (!open.empty() && !open.back()->prefix.overlaps(net.prefix))
            open.pop_back();
        auto other = std::ranges::find_if(
            open, [&](const auto* one) { return one->interface != net.interface && one->vrf == net.vrf; });
        if (other != open.end() && (*other)->own != net.own)
            errors.push_back({net.where,
                              in_quotes(net.own.to_string() + "/" + std::to_string(net.prefix.length)) +
                                  ": net " + net.prefix.to_string() + " overlaps " +
                                  (*other)->prefix.to_string() + " of " + in_quotes((*other)->interface),
                              "a net of its own for each interface", "see " + (*other)->where});
        open.push_back(&net);
    }
}

}  // namespace

void check_addresses(const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    std::map<std::pair<std::string, IpAddress>, const PlacedAddress*> seen;  // by VRF; with a net, if any has
    for (const PlacedInterface& one : draft.interfaces) {
        std::set<std::string> told;
        for (const PlacedAddress& placed : one.addresses) {
            Errors found;
            check_one(placed, one, found);
            for (Error& error : found)
                if (told.insert(error.where).second) errors.push_back(std::move(error));
            // The same link-local address may be on many links, and so may one without a net: links borrow
            // it where they have none of their own.
            auto [first, is_new] = seen.try_emplace({one.value.vrf, placed.value.address}, &placed);
            if (is_new) continue;
            const PlacedAddress& other = *first->second;
            const bool alone = is_alone(placed.value.address, placed.value.length);
            const bool same_link = other.where.starts_with(one.where + "/");
            const bool borrowed = alone || is_alone(other.value.address, other.value.length);
            if (same_link || (!placed.value.address.is_link_local() && !borrowed))
                errors.push_back({placed.where,
                                  in_quotes(placed.value.address.to_string()) + " is there twice",
                                  "each address once, or on other interfaces as " +
                                      in_quotes(placed.value.address.to_string() + "/" +
                                                std::to_string(placed.value.address.bits())),
                                  "see " + other.where});
            if (!alone) first->second = &placed;
        }
    }
    check_overlaps(nets, errors);
}

}  // namespace pktpit::config
