// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

PlacedInterface read_interface(const std::string& name, const json& node, Errors& errors) {
    PlacedInterface out;
    out.where = at("/interfaces", name);
    Interface& value = out.value;
    value.name = name;
    if (auto found = node.find("description"); found != node.end())
        value.description = found->get<std::string>();
    if (auto found = node.find("parent"); found != node.end()) value.parent = found->get<std::string>();
    if (auto found = node.find("vlan"); found != node.end())
        for (const json& vid : *found)
            value.vlan.push_back(vid.get<uint16_t>());
    if (auto found = node.find("vlan_protocol"); found != node.end()) {
        out.has_vlan_protocol = true;
        value.vlan_protocol = *found == "802.1ad" ? 0x88a8 : 0x8100;
    }
    if (auto found = node.find("vrf"); found != node.end()) value.vrf = vrf_of(*found);
    if (auto found = node.find("filter_in"); found != node.end()) value.filter_in = found->get<std::string>();
    if (auto found = node.find("filter_out"); found != node.end())
        value.filter_out = found->get<std::string>();
    read_guards(node, out.where, value, errors);
    if (auto found = node.find("sample"); found != node.end()) value.sample = found->get<uint32_t>();
    if (auto found = node.find("mtu"); found != node.end()) value.mtu = found->get<uint32_t>();
    if (auto found = node.find("xdp_mode"); found != node.end()) {
        out.has_xdp_mode = true;
        value.xdp_mode = *found == "native"    ? XdpMode::native
                         : *found == "generic" ? XdpMode::generic
                                               : XdpMode::automatic;
    }
    if (auto found = node.find("generic_vlan"); found != node.end()) {
        out.has_generic_vlan = true;
        value.generic_vlan = *found == "accept" ? GenericVlan::accept : GenericVlan::refuse;
    }
    if (auto found = node.find("forwarding"); found != node.end()) {
        out.has_forwarding = true;
        value.forwarding = *found == "split"  ? Forwarding::split
                           : *found == "auto" ? Forwarding::automatic
                                              : Forwarding::inline_;
    }
    if (auto found = node.find("pci"); found != node.end()) value.pci = lower_case(found->get<std::string>());
    if (auto found = node.find("device"); found != node.end()) value.device = found->get<std::string>();
    if (auto found = node.find("wire"); found != node.end())
        value.wire = read_wire(*found, at(out.where, "wire"), errors);
    if (auto found = node.find("nic_port"); found != node.end()) value.nic_port = found->get<std::string>();
    if (auto found = node.find("payload"); found != node.end()) {
        out.has_payload = true;
        value.payload = *found == "bounce" ? PayloadPlace::bounce : PayloadPlace::automatic;
    }
    if (auto found = node.find("addresses"); found != node.end()) {
        for (size_t i = 0; i < found->size(); i++) {
            std::string where = at(at(out.where, "addresses"), i);
            if (auto address = read_interface_address((*found)[i].get<std::string>(), where, errors))
                out.addresses.push_back({*address, where});
            else
                out.addresses_broken = true;
        }
    }
    return out;
}

PlacedNeighbour read_neighbour(const json& node, std::string where, Errors& errors) {
    PlacedNeighbour out;
    out.where = std::move(where);
    out.value.interface = node.at("interface").get<std::string>();
    if (auto address = read_address(node.at("address").get<std::string>(), at(out.where, "address"), errors))
        out.value.address = *address;
    else
        out.address_broken = true;
    if (auto mac = read_mac(node.at("mac").get<std::string>(), at(out.where, "mac"), errors))
        out.value.mac = *mac;
    return out;
}

}  // namespace pktpit::config
