// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

/// What modelled packet memory holds of one frame, less Ethernet header and two VLAN tags.
constexpr uint32_t largest_mtu = 1984 - 14 - 8;

/// Where each device, file and NIC port is used, for what is used twice.
using Users = std::map<std::string, std::string>;

void check_twice(Users& users, const std::string& what, const std::string& where, Errors& errors) {
    const auto [other, is_new] = users.try_emplace(what, where);
    if (!is_new)
        errors.push_back(
            {where, in_quotes(what) + " is used by " + other->second + " already", "one of its own", ""});
}

void check_device(const PlacedInterface& port, const Draft& draft, const InterfaceExists& exists,
                  Users& users, Errors& errors) {
    const std::string where = at(at(port.where, "wire"), "device");
    const std::string& name = port.value.wire->device;
    check_twice(users, name, where, errors);
    if (draft.interface(name))
        errors.push_back({where, "the port " + in_quotes(name) + " has the name of the Linux device below",
                          "another name for one of the two: the port's tap takes the port's name",
                          "call the port \"lan\", \"wan\", …"});
    else if (exists && !exists(name))
        errors.push_back({where, "there is no interface " + in_quotes(name) + " on this machine",
                          "the name of a Linux device", "`ip -br link` lists them"});
    for (const auto& [key, there] : {std::pair{"read", !port.value.wire->read.empty()},
                                     std::pair{"write", !port.value.wire->write.empty()},
                                     std::pair{"mac", port.value.wire->mac.has_value()}})
        if (there)
            errors.push_back({at(at(port.where, "wire"), key),
                              std::string("\"") + key + "\" beside \"device\"",
                              "a device, or files, but not both for one port", ""});
}

void check_port(const PlacedInterface& port, const Draft& draft, const InterfaceExists& exists, Users& users,
                Errors& errors) {
    const Interface& value = port.value;
    if (port.has_generic_vlan)
        errors.push_back({at(port.where, "generic_vlan"), "a modelled port has no XDP program",
                          "\"generic_vlan\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_xdp_mode)
        errors.push_back({at(port.where, "xdp_mode"), "a modelled port has no XDP program",
                          "\"xdp_mode\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_forwarding && value.forwarding != Forwarding::split)
        errors.push_back({at(port.where, "forwarding"), "a modelled NIC of the daemon decides nothing itself",
                          "\"split\", which is what it does without the key", ""});
    if (value.mtu && *value.mtu > largest_mtu)
        errors.push_back({at(port.where, "mtu"),
                          "MTU " + std::to_string(*value.mtu) + " does not fit into modelled packet memory",
                          "at most " + std::to_string(largest_mtu), ""});
    if (!value.nic_port.empty()) check_twice(users, value.nic_port, at(port.where, "nic_port"), errors);
    if (!value.wire) {
        errors.push_back(
            {port.where, "a port of the model dataplane without \"wire\"",
             "where its frames come from and go: a Linux device, or pcap files",
             R"("wire": {"device": "eth0"}, or "wire": {"read": "in.pcap", "write": "out.pcap"})"});
        return;
    }
    const std::string where = at(port.where, "wire");
    if (!value.wire->device.empty()) return check_device(port, draft, exists, users, errors);
    if (!value.wire->write.empty()) check_twice(users, value.wire->write, at(where, "write"), errors);
    if (!value.wire->read.empty() && value.wire->read == value.wire->write)
        errors.push_back({at(where, "write"), "it is the file that is read", "another file", ""});
}

}  // namespace

void check_model(const Draft& draft, const InterfaceExists& exists, Errors& errors) {
    const bool model = draft.settings.dataplane == "model";
    Users users;
    for (const PlacedInterface& one : draft.interfaces) {
        const bool vlan = one.value.parent || !one.value.vlan.empty();
        if (model && !vlan) {
            check_port(one, draft, exists, users, errors);
            continue;
        }
        for (const auto& [key, there] : {std::pair{"wire", one.value.wire.has_value()},
                                         std::pair{"nic_port", !one.value.nic_port.empty()}})
            if (there)
                errors.push_back({at(one.where, key),
                                  vlan ? "a VLAN interface is no port of a modelled NIC"
                                       : "only ports of the model dataplane are modelled",
                                  in_quotes(key) + " at ports of \"dataplane\": \"model\" only", ""});
    }
}

}  // namespace pktpit::config
