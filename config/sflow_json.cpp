// SPDX-License-Identifier: BSD-3-Clause
// Samples of packets in the configuration's JSON, and that JSON again.
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/meaning.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

void check_reached(const IpAddress& address, const std::string& where, Errors& errors) {
    if (address.is_unspecified() || (address.is_link_local() && address.is_v6()))
        errors.push_back({where, address.to_string() + " is the address of no collector",
                          "an address that datagrams can be sent to", ""});
}

}  // namespace

void read_sflow(const json& node, Sflow& out, Errors& errors) {
    const json& collectors = node.at("collectors");
    for (size_t i = 0; i < collectors.size(); i++) {
        const std::string where = at(at("/sflow", "collectors"), i);
        constexpr uint16_t sflow_port = 6343;
        Errors wrong;
        const auto endpoint = read_endpoint(
            collectors[i].get<std::string>(), sflow_port, where,
            "an address, with a port if it is not 6343: 192.0.2.9 or [2001:db8::9]:6343", wrong);
        for (Error& error : wrong) {
            constexpr std::string_view of_servers = "no address to listen at";
            if (const size_t place = error.message.find(of_servers); place != std::string::npos)
                error.message.replace(place, of_servers.size(), "no address of a collector");
            errors.push_back(std::move(error));
        }
        if (!endpoint) continue;
        check_reached(endpoint->address, where, errors);
        out.collectors.push_back({endpoint->address, endpoint->port});
    }
    if (const auto agent = read_address(node.at("agent").get<std::string>(), at("/sflow", "agent"), errors))
        out.agent = *agent;
    if (auto found = node.find("header_bytes"); found != node.end())
        out.header_bytes = found->get<uint32_t>();
    if (auto found = node.find("counters_s"); found != node.end()) out.counters_s = found->get<uint32_t>();
}

json sflow_json(const Sflow& sflow) {
    json out = json::object();
    for (const SflowCollector& one : sflow.collectors)
        out["collectors"].push_back(endpoint_text(one.address, one.port));
    out["agent"] = sflow.agent.to_string();
    out["header_bytes"] = sflow.header_bytes;
    out["counters_s"] = sflow.counters_s;
    return out;
}

void check_sflow(const Draft& draft, Errors& errors) {
    for (const PlacedInterface& one : draft.interfaces) {
        if (one.value.sample == 0) continue;
        const std::string where = at(one.where, "sample");
        if (one.value.parent)
            errors.push_back({where, "a VLAN interface is not sampled by itself", "a port",
                              "sample " + *one.value.parent + ", which carries it"});
        if (draft.settings.sflow.collectors.empty())
            errors.push_back({where, "nobody gets the samples", "collectors in /sflow", ""});
    }
}

}  // namespace pktpit::config
