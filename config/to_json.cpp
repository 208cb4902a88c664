// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>

#include "config/config.h"
#include "config/draft.h"
#include "config/route_json.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

json next_hop_json(const NextHop& hop) {
    json out = {{"weight", hop.weight}};
    if (hop.via) out["via"] = hop.via->to_string();
    if (hop.interface) out["interface"] = *hop.interface;
    if (hop.vrf) out["vrf"] = vrf_name(*hop.vrf);
    return out;
}

json next_hops_json(const std::vector<NextHop>& hops) {
    json out = json::array();
    for (const NextHop& hop : hops)
        out.push_back(next_hop_json(hop));
    return out;
}

json next_hops_by_id(const std::map<std::string, std::vector<NextHop>>& lists) {
    json out = json::object();
    for (const auto& [id, hops] : lists)
        out[id] = next_hops_json(hops);
    return out;
}

json payload_memory_json(const PayloadMemory& memory) {
    json out = {{"kind", to_string(memory.kind)}};
    if (!memory.pci.empty()) out["pci"] = memory.pci;
    if (memory.kind == MemoryKind::pci_bar || memory.kind == MemoryKind::vfio_region) out["bar"] = memory.bar;
    if (memory.size_mib != 0) out["size_mib"] = memory.size_mib;
    return out;
}

json dpdk_json(const Dpdk& dpdk) {
    return {{"eal", dpdk.eal},
            {"devices", dpdk.devices},
            {"memory", to_string(dpdk.memory)},
            {"payload_memory", payload_memory_json(dpdk.payload_memory)},
            {"mbufs", dpdk.mbufs},
            {"slot_bytes", dpdk.slot_bytes},
            {"rx_descriptors", dpdk.rx_descriptors},
            {"tx_descriptors", dpdk.tx_descriptors}};
}

json vfio_json(const Vfio& vfio) {
    json out = {{"payload_memory", payload_memory_json(vfio.payload_memory)},
                {"slot_bytes", vfio.slot_bytes},
                {"rx_descriptors", vfio.rx_descriptors},
                {"tx_descriptors", vfio.tx_descriptors}};
    if (vfio.peer)
        out["peer"] = {{"queue_frames", vfio.peer->queue_frames}, {"patience_ms", vfio.peer->patience_ms}};
    return out;
}

json model_json(const Model& model) {
    return {
        {"topology", model.topology}, {"profile", model.profile}, {"transfer", to_string(model.transfer)}};
}

json wire_json(const Wire& wire) {
    if (!wire.device.empty()) return {{"device", wire.device}, {"own_frames", wire.own_frames}};
    json out = {{"own_frames", wire.own_frames}};
    if (!wire.read.empty()) out["read"] = wire.read;
    if (!wire.write.empty()) out["write"] = wire.write;
    if (wire.mac) out["mac"] = wire.mac->to_string();
    return out;
}

json interface_json(const Interface& interface) {
    json out = json::object();
    if (interface.parent) {
        out["parent"] = *interface.parent;
        out["vlan"] = interface.vlan;
        out["vlan_protocol"] = vlan_protocol_name(interface.vlan_protocol);
    } else if (!interface.pci.empty()) {
        out["pci"] = interface.pci;
        out["payload"] = to_string(interface.payload);
    } else if (!interface.device.empty()) {
        out["device"] = interface.device;
    } else if (interface.wire) {
        out["wire"] = wire_json(*interface.wire);
        if (!interface.nic_port.empty()) out["nic_port"] = interface.nic_port;
    } else {
        out["xdp_mode"] = to_string(interface.xdp_mode);
        out["generic_vlan"] = to_string(interface.generic_vlan);
        out["forwarding"] = to_string(interface.forwarding);
    }
    out["addresses"] = json::array();
    for (const InterfaceAddress& address : interface.addresses)
        out["addresses"].push_back(address.to_string());
    if (!interface.description.empty()) out["description"] = interface.description;
    if (interface.mtu) out["mtu"] = *interface.mtu;
    out["vrf"] = vrf_name(interface.vrf);
    if (!interface.filter_in.empty()) out["filter_in"] = interface.filter_in;
    if (!interface.filter_out.empty()) out["filter_out"] = interface.filter_out;
    if (interface.rpf != Rpf::off) out["rpf"] = to_string(interface.rpf);
    if (interface.sample != 0) out["sample"] = interface.sample;
    if (interface.police_in) {
        out["police_in"] = rate_text(interface.police_in->bits_per_second);
        out["police_burst"] = interface.police_in->burst_bytes;
    }
    return out;
}

json route_json(const StaticRoute& route) {
    json out = {{"prefix", route.prefix.to_string()}, {"type", to_string(route.type)},
                {"preference", route.preference},     {"metric", route.metric},
                {"counters", route.counters},         {"vrf", vrf_name(route.vrf)}};
    if (!route.next_hops.empty()) out["next_hops"] = next_hops_json(route.next_hops);
    if (!route.backup.empty()) out["backup"] = next_hops_json(route.backup);
    if (route.mtu != 0) out["mtu"] = route.mtu;
    return out;
}

std::string key_text(uint64_t key) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(key));
    return text.data();
}

json fpm_json(const Fpm& fpm) {
    json out = {{"listen", fpm.listen()},
                {"table", fpm.table},
                {"preference", fpm.preference},
                {"stale_hold_s", fpm.stale_hold_s}};
    for (const Prefix& prefix : fpm.from)
        out["from"].push_back(prefix.to_string());
    return out;
}

json tcp_service_json(const TcpService& service) {
    json out = {{"listen", service.listen()}, {"hosts", service.hosts}};
    for (const Prefix& prefix : service.from)
        out["from"].push_back(prefix.to_string());
    return out;
}

/// The key too: what reads this is to make the same of it.
json group_json(const AggregationGroup& group) {
    json out = {{"workers", json::array()},      {"port", group.port},
                {"slots", group.slots},          {"type", to_string(group.type)},
                {"key", key_text(group.key)},    {"chunk_bytes", group.chunk_bytes},
                {"timeout_ms", group.timeout_ms}};
    for (const IpAddress& worker : group.workers)
        out["workers"].push_back(worker.to_string());
    return out;
}

void append_next_hops(std::string& out, const char* key, const std::vector<NextHop>& hops) {
    if (hops.empty()) return;
    out.append(",\"").append(key).append("\":[");
    for (const NextHop& hop : hops) {
        if (&hop != &hops.front()) out += ',';
        out += "{\"weight\":" + std::to_string(hop.weight);
        if (hop.via) out += ",\"via\":\"" + hop.via->to_string() + '"';
        if (hop.interface) out += ",\"interface\":" + json(*hop.interface).dump();
        if (hop.vrf) out += ",\"vrf\":" + json(vrf_name(*hop.vrf)).dump();
        out += '}';
    }
    out += ']';
}

}  // namespace

std::string route_text(const StaticRoute& route) {
    std::string out = "{\"prefix\":\"" + route.prefix.to_string() + '"';
    if (route.type != RouteType::unicast) out += ",\"type\":\"" + std::string(to_string(route.type)) + '"';
    out += ",\"preference\":" + std::to_string(route.preference);
    out += ",\"metric\":" + std::to_string(route.metric);
    if (route.counters) out += ",\"counters\":true";
    if (route.mtu != 0) out += ",\"mtu\":" + std::to_string(route.mtu);
    if (!route.vrf.empty()) out += ",\"vrf\":" + json(route.vrf).dump();
    append_next_hops(out, "next_hops", route.next_hops);
    append_next_hops(out, "backup", route.backup);
    return out + '}';
}

json to_json(const Config& config) {
    json out = {{"instance", config.instance},
                {"dataplane", config.dataplane},
                {"log_level", config.log_level},
                {"interfaces", json::object()},
                {"vrfs", json::object()},
                {"filters", filters_json(config.filters)},
                {"host_police", host_police_json(config.host_police)},
                {"routes", json::array()},
                {"routes_files", json::array()},
                {"neighbours", json::array()},
                {"kernel_routes",
                 {{"enabled", config.kernel_routes.enabled},
                  {"table", config.kernel_routes.table},
                  {"protocols", config.kernel_routes.protocols},
                  {"preference", config.kernel_routes.preference},
                  {"install", config.kernel_routes.install}}},
                {"routing", {{"resolve_via_default", config.routing.resolve_via_default}}},
                {"icmp",
                 {{"rate", config.icmp.rate},
                  {"rate_per_prefix", config.icmp.rate_per_prefix},
                  {"burst_per_prefix", config.icmp.burst_per_prefix},
                  {"redirects", config.icmp.redirects}}},
                {"fib",
                 {{"table_memory_mib", config.fib.table_memory_mib},
                  {"next_hop_groups", config.fib.next_hop_groups},
                  {"adjacencies", config.fib.adjacencies}}},
                {"workers",
                 {{"count", config.workers.count},
                  {"cpus", config.workers.cpus},
                  {"polling", to_string(config.workers.polling)}}},
                {"heartbeat",
                 {{"worker_ms", config.heartbeat.worker_ms},
                  {"on_daemon_loss", to_string(config.heartbeat.on_daemon_loss)},
                  {"hold_s", config.heartbeat.hold_s}}},
                {"offload",
                 {{"fib_entries", config.offload.fib_entries}, {"whole_table", config.offload.whole_table}}},
                {"aggregation", {{"groups", json::object()}}},
                {"vfio", vfio_json(config.vfio)},
                {"dpdk", dpdk_json(config.dpdk)},
                {"model", model_json(config.model)},
                {"seccomp", config.seccomp},
                {"api",
                 {{"connections_per_user", config.api.connections_per_user},
                  {"reload_from", config.api.reload_from}}},
                {"xdp", {{"dispatcher", config.xdp_dispatcher}}},
                {"neighbour_queue", config.neighbour_queue},
                {"neighbours_unresolved", config.neighbours_unresolved}};
    if (config.fpm.enabled) out["fpm"] = fpm_json(config.fpm);
    if (config.metrics.enabled) out["metrics"] = tcp_service_json(config.metrics);
    if (config.web.enabled) out["web"] = tcp_service_json(config.web);
    if (!config.sflow.collectors.empty()) out["sflow"] = sflow_json(config.sflow);
    for (const auto& [name, group] : config.aggregation)
        out["aggregation"]["groups"][name] = group_json(group);
    if (!config.user.empty()) out["user"] = config.user;
    if (!config.api.group.empty()) out["api"]["group"] = config.api.group;
    if (config.hash_seed) out["hash_seed"] = *config.hash_seed;
    for (const auto& [name, interface] : config.interfaces)
        out["interfaces"][name] = interface_json(interface);
    for (const auto& [name, vrf] : config.vrfs)
        out["vrfs"][name] = {{"table", vrf.table}};
    for (const StaticRoute& route : config.routes)
        out["routes"].push_back(route_json(route));
    for (const RoutesFile& file : config.routes_files) {
        json one = {{"path", file.path},
                    {"preference", file.preference},
                    {"vrf", vrf_name(file.vrf)},
                    {"next_hops", next_hops_by_id(file.next_hops)}};
        if (!file.backup.empty()) one["backup"] = next_hops_by_id(file.backup);
        out["routes_files"].push_back(std::move(one));
    }
    for (const StaticNeighbour& one : config.neighbours)
        out["neighbours"].push_back({{"address", one.address.to_string()},
                                     {"mac", one.mac.to_string()},
                                     {"interface", one.interface}});
    return out;
}

}  // namespace pktpit::config
