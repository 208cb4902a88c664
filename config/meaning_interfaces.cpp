// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <set>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

/// Ports a dataplane drives: ids 1 to 255 (PP_MAX_PORTS of bpf/abi.h is 256, and id 0 is invalid).
constexpr size_t max_ports = 255;

/// "a → b → a" if following the parents from here leads back here.
std::string parent_loop(const Draft& draft, const PlacedInterface& start) {
    std::string path = start.value.name;
    std::set<std::string> seen{start.value.name};
    for (const PlacedInterface* at = &start; at && at->value.parent;
         at = draft.interface(*at->value.parent)) {
        const std::string& parent = *at->value.parent;
        path += " → " + parent;
        if (parent == start.value.name) return path;
        if (!seen.insert(parent).second) return "";  // a loop further up, reported there
    }
    return "";
}

/// The kernel gives no device a larger MTU than the one that it lies on has.
void check_mtu_below(const PlacedInterface& one, const PlacedInterface& below, const std::string& what,
                     Errors& errors) {
    if (one.value.mtu && below.value.mtu && *one.value.mtu > *below.value.mtu)
        errors.push_back({at(one.where, "mtu"),
                          "MTU " + std::to_string(*one.value.mtu) + " is larger than that of " + what + " " +
                              in_quotes(below.value.name),
                          "at most " + std::to_string(*below.value.mtu), ""});
}

void check_parent(const Draft& draft, const PlacedInterface& one, Errors& errors) {
    std::string where = at(one.where, "parent");
    if (!check_interface_name(*one.value.parent, where, draft, errors)) return;
    if (std::string path = parent_loop(draft, one); !path.empty()) {
        errors.push_back({where, "loop of parents: " + path, "a port, which has no parent", ""});
        return;
    }
    const PlacedInterface* parent = draft.interface(*one.value.parent);
    if (parent->value.parent) {
        std::string hint;
        if (parent->value.vlan.size() == 1 && one.value.vlan.size() == 1)
            hint = "write \"parent\": " + in_quotes(*parent->value.parent) + ", \"vlan\": [" +
                   std::to_string(parent->value.vlan[0]) + ", " + std::to_string(one.value.vlan[0]) + "]";
        errors.push_back(
            {where, in_quotes(parent->value.name) + " is a VLAN interface itself", "a port", hint});
    }
    check_mtu_below(one, *parent, "its parent", errors);
    if (one.value.vlan.size() == 2)
        for (const PlacedInterface& outer : draft.interfaces)
            if (outer.value.parent == one.value.parent && outer.value.vlan.size() == 1 &&
                outer.value.vlan[0] == one.value.vlan[0])
                check_mtu_below(one, outer, "its outer VLAN", errors);
}

void check_vlan_keys(const PlacedInterface& one, Errors& errors) {
    const Interface& value = one.value;
    if (value.parent && value.vlan.empty())
        errors.push_back(
            {one.where, "\"parent\" without \"vlan\"", "the VLAN IDs beside the parent", "\"vlan\": [100]"});
    if (!value.parent && !value.vlan.empty())
        errors.push_back({one.where, "\"vlan\" without \"parent\"", "the port beside the VLAN IDs",
                          "\"parent\": \"eth0\""});
    if (one.has_vlan_protocol && !value.parent && value.vlan.empty())
        errors.push_back({at(one.where, "vlan_protocol"), "a port has no VLAN tag of its own",
                          "\"vlan_protocol\" beside \"parent\" and \"vlan\" only", ""});
    if (one.has_forwarding && value.parent)
        errors.push_back({at(one.where, "forwarding"), "a VLAN interface forwards as its port does",
                          "\"forwarding\" at its parent " + in_quotes(*value.parent), ""});
    if (one.has_generic_vlan && value.parent)
        errors.push_back({at(one.where, "generic_vlan"), "a VLAN interface has no XDP program of its own",
                          "\"generic_vlan\" at its parent " + in_quotes(*value.parent), ""});
    if (one.has_xdp_mode && value.parent)
        errors.push_back({at(one.where, "xdp_mode"), "a VLAN interface has no XDP program of its own",
                          "\"xdp_mode\" at its parent " + in_quotes(*value.parent), ""});
}

}  // namespace

void check_interfaces(const Draft& draft, const InterfaceExists& exists, Errors& errors) {
    std::map<std::pair<std::string, std::vector<uint16_t>>, std::string> tags;
    size_t ports = 0;
    for (const PlacedInterface& one : draft.interfaces) {
        const Interface& value = one.value;
        check_vlan_keys(one, errors);
        if (value.parent) check_parent(draft, one, errors);
        if (value.parent && !value.vlan.empty()) {
            // The outer tag's type is left out: the FIB tells interfaces apart by VLAN IDs alone.
            auto [found, is_new] = tags.try_emplace({*value.parent, value.vlan}, value.name);
            if (!is_new)
                errors.push_back(
                    {at(one.where, "vlan"),
                     "same VLAN IDs on " + in_quotes(*value.parent) + " as " + in_quotes(found->second),
                     "VLAN IDs of its own", ""});
        }
        if (!value.parent && value.vlan.empty()) {
            if (++ports == max_ports + 1)
                errors.push_back({"/interfaces", "more than " + std::to_string(max_ports) + " ports",
                                  "at most " + std::to_string(max_ports) + " interfaces without \"parent\"",
                                  ""});
            // A port that is known by its NIC gets its device, a tap, from the daemon.
            const bool is_nic =
                !value.pci.empty() || !value.device.empty() || draft.settings.dataplane != "xdp";
            if (exists && !is_nic && !exists(value.name))
                errors.push_back({one.where,
                                  "there is no interface " + in_quotes(value.name) + " on this machine",
                                  "the name of a Linux device", "`ip -br link` lists them"});
        }
    }
}

}  // namespace pktpit::config
