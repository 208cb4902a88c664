// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/json/nearest.h"
#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {

ConnectedNets::ConnectedNets(const Draft& draft) {
    for (const PlacedInterface& one : draft.interfaces) {
        incomplete_ |= one.addresses_broken;
        for (const PlacedAddress& address : one.addresses)
            nets_.push_back(
                {address.value.net(), address.value.address, one.value.name, address.where, one.value.vrf});
    }
    std::ranges::stable_sort(nets_, {}, &Net::prefix);
}

std::vector<const ConnectedNets::Net*> ConnectedNets::containing(const IpAddress& address,
                                                                 const std::string& vrf) const {
    std::vector<const Net*> found;
    for (const Net& net : nets_)
        if (net.vrf == vrf && net.prefix.address.family == address.family && net.prefix.contains(address))
            found.push_back(&net);
    std::ranges::stable_sort(found, std::greater{}, [](const Net* net) { return net->prefix.length; });
    return found;
}

const ConnectedNets::Net* ConnectedNets::with_own_address(const IpAddress& address,
                                                          const std::string& vrf) const {
    auto found =
        std::ranges::find_if(nets_, [&](const Net& net) { return net.vrf == vrf && net.own == address; });
    return found == nets_.end() ? nullptr : &*found;
}

bool ConnectedNets::has(std::string_view interface, Family family) const {
    return std::ranges::any_of(nets_, [&](const Net& net) {
        return net.interface == interface && net.prefix.address.family == family && !net.own.is_link_local();
    });
}

std::string ConnectedNets::choice(Family family, std::string_view interface) const {
    constexpr int most = 8;
    std::string out;
    int count = 0;
    for (const Net& net : nets_) {
        if (net.prefix.address.family != family || net.own.is_link_local()) continue;
        if (!interface.empty() && net.interface != interface) continue;
        if (++count > most) continue;
        out += (out.empty() ? "an address in " : ", ") + net.prefix.to_string() + " (" + net.interface + ")";
    }
    if (count > most) out += " and " + std::to_string(count - most) + " more";
    const char* name = family == Family::ipv4 ? "IPv4" : "IPv6";
    return out.empty() ? std::string("an interface with an ") + name + " address" : out;
}

std::string no_host_address(const IpAddress& address) {
    if (address.is_unspecified()) return "the unspecified address";
    if (address.is_loopback()) return "a loopback address";
    if (address.is_multicast()) return "a multicast address";
    if (address.is_v4()) {
        if (address.v4_host_order() == 0xffffffff) return "the limited broadcast address";
        if (address.bytes[0] == 0) return "in 0.0.0.0/8 (\"this network\", RFC 1122)";
        if (address.bytes[0] >= 240) return "in 240.0.0.0/4 (reserved, RFC 1112)";
    } else {
        bool zeros =
            std::all_of(address.bytes.begin(), address.bytes.begin() + 10, [](uint8_t b) { return b == 0; });
        if (zeros && address.bytes[10] == 0xff && address.bytes[11] == 0xff)
            return "an IPv4-mapped address (RFC 4291), which is never on the wire";
    }
    return "";
}

std::string reserved_in_net(const IpAddress& address, const Prefix& net) {
    if (net.length + 1U >= address.bits()) return "";  // RFC 3021, RFC 6164: both addresses are hosts'
    if (address == net.address)
        return address.is_v4() ? "the network address of " + net.to_string()
                               : "the subnet-router anycast address of " + net.to_string();
    if (address.is_v4() && address == net.last()) return "the broadcast address of " + net.to_string();
    return "";
}

bool check_interface_name(const std::string& name, const std::string& where, const Draft& draft,
                          Errors& errors) {
    if (draft.interface(name)) return true;
    std::vector<std::string> names = draft.interface_names();
    std::string expected;
    for (size_t i = 0; i < names.size() && i < 8; i++)
        expected += (i ? ", " : "one of ") + names[i];
    if (names.size() > 8) expected += ", …";
    std::string hint = did_you_mean(name, names);
    errors.push_back({where, in_quotes(name) + " is no interface of this configuration", expected,
                      hint.empty() ? "add it to /interfaces" : hint});
    return false;
}

}  // namespace pktpit::config
