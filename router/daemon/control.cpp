// SPDX-License-Identifier: BSD-3-Clause
// The API's questions and orders, answered in the shapes of docs/api.md.
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "config/protocols.h"
#include "router/daemon/daemon.h"
#include "router/daemon/list_routes.h"
#include "router/daemon/show_filters.h"
#include "router/daemon/show_routes.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

json verdicts_of(const pp_port_counters& counters) {
    json verdicts = json::object();
    for (int verdict = PP_NONE + 1; verdict < PP_VERDICT_COUNT; verdict++)
        if (counters.verdict[verdict] != 0)
            verdicts[name_of(static_cast<pp_verdict>(verdict))] = counters.verdict[verdict];
    return verdicts;
}

json counts_of(const pp_port_counters& counters) {
    return {{"rx_packets", counters.rx_packets},
            {"rx_bytes", counters.rx_bytes},
            {"tx_packets", counters.tx_packets},
            {"tx_bytes", counters.tx_bytes},
            {"verdicts", verdicts_of(counters)}};
}

// Percentiles of nothing are null, not 0.
json latency_of(const LatencyCounts& counts) {
    const uint64_t count = counts.count();
    const auto known = [&](uint64_t nanoseconds) { return count == 0 ? json() : json(nanoseconds); };
    return {{"count", count},
            {"p50", known(counts.percentile(0.5))},
            {"p90", known(counts.percentile(0.9))},
            {"p99", known(counts.percentile(0.99))},
            {"p999", known(counts.percentile(0.999))},
            {"max", known(counts.longest)}};
}

json slots_of(const offload::SlotCounts& counts) {
    return {{"total", counts.total},       {"free", counts.free},       {"receive", counts.receive},
            {"transmit", counts.transmit}, {"retired", counts.retired}, {"lost", counts.lost()}};
}

std::string_view word_of(config::Polling polling) {
    switch (polling) {
        case config::Polling::busy:
            return "busy";
        case config::Polling::interrupt:
            return "interrupt";
        case config::Polling::adaptive:
            break;
    }
    return "adaptive";
}

uint64_t drops_of(const pp_port_counters& counters) {
    uint64_t drops = 0;
    for (int verdict = PP_NONE + 1; verdict < PP_VERDICT_COUNT; verdict++)
        if (action_of(static_cast<pp_verdict>(verdict)) == PP_ACTION_DROP) drops += counters.verdict[verdict];
    return drops;
}

json addresses_of(const L3Interface& interface) {
    json addresses = json::array();
    for (const auto& address : interface.addresses)
        addresses.push_back(address.to_string());
    return addresses;
}

/// What `show ports` says of a NIC that the dataplane drives itself.
json port_of(const NicDetails& nic) {
    return {{nic.pci.empty() ? "device" : "pci", nic.pci.empty() ? nic.device : nic.pci},
            {"model", nic.model},
            {"direct", nic.direct},
            {"payload", nic.payload},
            {"bounced_to", nic.bounced_to}};
}

json statistics_of(const NicDetails& nic) {
    json statistics = json::object();
    for (const auto& [name, value] : nic.statistics)
        statistics[name] = value;
    return statistics;
}

json tpid_text(uint16_t tpid) {
    char text[8];
    std::snprintf(text, sizeof text, "0x%04x", tpid);
    return text;
}

json progress_of(const KernelRoutes::Status& status) {
    return {{"state", !status.followed  ? "off"
                      : status.complete ? "complete"
                                        : "reading"},
            {"routes", status.routes},
            {"waiting", status.waiting}};
}

json counters_of(const KernelRoutes::Status& status) {
    const KernelCounters& netlink = status.netlink;
    return {{"routes", status.routes},
            {"waiting", status.waiting},
            {"turns", status.turns},
            {"longest_turn_us", static_cast<uint64_t>(status.longest_turn.count())},
            {"events", netlink.events},
            {"ignored", netlink.ignored},
            {"malformed", netlink.malformed},
            {"unsupported", netlink.unsupported},
            {"overflows", netlink.overflows},
            {"drops", netlink.drops},
            {"resyncs", netlink.resyncs},
            {"dumps_repeated", netlink.dumps_repeated},
            {"most_waiting", netlink.most_waiting},
            {"comparisons", status.comparisons},
            {"differences", status.differences}};
}

/// How often a link went up or down, and when last, in seconds since 1970.
json link_changes_of(const ControlPlane& control, const std::string& name) {
    const auto found = control.link_changes().find(name);
    if (found == control.link_changes().end()) return {{"count", 0}, {"last", nullptr}};
    const std::chrono::duration<double> last = found->second.last.time_since_epoch();
    return {{"count", found->second.count}, {"last", last.count()}};
}

json stand_in_of(const StandIn& state) {
    return {{"now", state.now}, {"times", state.times}, {"packets", state.packets}};
}

}  // namespace

/// Whoever reads a figure of modelled hardware is told so.
json Daemon::with_model(json body) const {
    if (const std::string modelled = dataplane_->modelled(); !modelled.empty()) body["modelled"] = modelled;
    return body;
}

std::optional<NicDetails> Daemon::nic(PortId port) const {
    OwnDevices* devices = dataplane_->own_devices();
    return devices ? devices->nic(port) : std::nullopt;
}

json Daemon::version() {
    const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - started_;
    return with_model({{"version", PKTPIT_VERSION},
                       {"abi", PP_ABI_VERSION},
                       {"layout", PP_FIB_LAYOUT_VERSION},
                       {"dataplane", control_->config().dataplane},
                       {"instance", control_->config().instance},
                       {"pid", getpid()},
                       {"uptime", uptime.count()},
                       {"generation", control_->generation()},
                       {"kernel", kernel_report_.answer(control_->config())},
                       {"kernel_routes", progress_of(control_->kernel_routes_status())}});
}

namespace {

json counters_of(const SflowExporter::Counts& counts) {
    return {{"flow_samples", counts.flow_samples},
            {"counter_samples", counts.counter_samples},
            {"skipped", counts.skipped},
            {"datagrams", counts.datagrams},
            {"not_sent", counts.not_sent}};
}

/// How the interface's sources are checked, and its rate.
json guards_of(const config::Interface& interface) {
    const auto& rate = interface.police_in;
    return {{"rpf", interface.rpf == config::Rpf::off      ? "off"
                    : interface.rpf == config::Rpf::strict ? "strict"
                                                           : "loose"},
            {"police_in", rate ? json(config::rate_text(rate->bits_per_second)) : json()},
            {"police_burst", rate ? json(rate->burst_bytes) : json()}};
}

}  // namespace

json Daemon::ports() {
    std::map<PortId, json> by_id;
    for (const auto& [name, port] : control_->ports().all()) {
        if (port.config.parent) continue;
        const L3Interface& interface = *control_->routing().interfaces().find(port.interface);
        const bool here = port.ifindex != 0;
        const auto counters = dataplane_->counters(port.port);
        json vlans = json::array();
        for (const auto& [vlan_name, vlan] : control_->ports().all()) {
            if (vlan.config.parent != name) continue;
            const L3Interface& on = *control_->routing().interfaces().find(vlan.interface);
            vlans.push_back(json{
                {"name", vlan_name},
                {"description", vlan.config.description.empty() ? json() : json(vlan.config.description)},
                {"vlan", on.vlan},
                {"protocol", tpid_text(on.vlan_protocol)},
                {"mtu", on.mtu},
                {"vrf", vrf_label(control_->routing(), on.vrf)},
                {"guards", guards_of(vlan.config)},
                {"addresses", addresses_of(on)}});
        }
        by_id[port.port] = {
            {"name", name},
            {"port", port.port},
            {"ifindex", port.ifindex},
            {"mac", here ? json(interface.mac.to_string()) : json()},
            {"mtu", here ? json(interface.mtu) : json()},
            {"up", interface.up},
            {"mode", port.attachment ? json(to_string(port.attachment->mode)) : json()},
            {"attach",
             port.attachment ? json(port.attachment->through_dispatcher ? "dispatcher" : "link") : json()},
            {"forwarding", dataplane_->forwarding(port.port)},
            {"sent_by", dataplane_->sent_by(port.port)},
            {"not_redirected", port.why_not_redirected.empty() ? json() : json(port.why_not_redirected)},
            {"description", port.config.description.empty() ? json() : json(port.config.description)},
            {"link_changes", link_changes_of(*control_, name)},
            {"warning",
             port.attachment && !port.attachment->warning.empty() ? json(port.attachment->warning) : json()},
            {"addresses", addresses_of(interface)},
            {"guards", guards_of(port.config)},
            {"vrf", vrf_label(control_->routing(), interface.vrf)},
            {"vlans", std::move(vlans)},
            {"rx_packets", counters.rx_packets},
            {"rx_bytes", counters.rx_bytes},
            {"tx_packets", counters.tx_packets},
            {"tx_bytes", counters.tx_bytes},
            {"drops", drops_of(counters)}};
        if (const auto details = nic(port.port)) by_id[port.port]["nic"] = port_of(*details);
        if (PortStages* stages = dataplane_->port_stages();
            stages && dataplane_->forwarding(port.port) != "inline")
            by_id[port.port]["stand_in"] = stand_in_of(stages->stand_in(port.port));
    }
    json ports = json::array();
    for (auto& [id, port] : by_id)
        ports.push_back(std::move(port));
    return with_model({{"ports", std::move(ports)}});
}

ProtocolOf Daemon::protocols(const std::string& vrf) const {
    return [this, vrf](const Prefix& prefix) { return control_->fpm_routes().protocol_of(prefix, vrf); };
}

Result<VrfId> Daemon::vrf_of(const std::string& name) const {
    if (const auto found = control_->routing().vrf_by_name(name)) return *found;
    return fail(name, "no such VRF", "one of /vrfs, or default", "pktpit show vrfs");
}

Control::Begun Daemon::routes(const RouteQuery& query) {
    if (auto known = vrf_of(query.vrf); !known) return tl::unexpected(known.error());
    return list_routes(control_->routing(), query, RouteForm::page, &control_->route_counters(),
                       protocols(query.vrf));
}

Control::Begun Daemon::all_routes(const RouteQuery& query) {
    if (auto known = vrf_of(query.vrf); !known) return tl::unexpected(known.error());
    return list_routes(control_->routing(), query, RouteForm::lines, &control_->route_counters(),
                       protocols(query.vrf));
}

Control::Begun Daemon::routes_summary(const RouteQuery& query) {
    if (auto known = vrf_of(query.vrf); !known) return tl::unexpected(known.error());
    return summarise_routes(control_->routing(), query.vrf);
}

std::unique_ptr<LongAnswer> Daemon::next_hop_groups() {
    return list_next_hop_groups(control_->routing());
}

json Daemon::vrfs() {
    json list = show_vrfs(control_->routing());
    // Which of the kernel's tables is followed for the default VRF is a setting of its own.
    const auto& followed = control_->config().kernel_routes;
    list["vrfs"][0]["table"] = followed.enabled ? json(followed.table) : json();
    return list;
}

json Daemon::filters() {
    return show_filters(*control_);
}

Result<json> Daemon::route_to(const AddressQuery& query) {
    const auto vrf = vrf_of(query.vrf);
    if (!vrf) return tl::unexpected(vrf.error());
    return show_route_to(control_->routing(), query.addresses.front(), &control_->route_counters(),
                         protocols(query.vrf), *vrf);
}

Result<json> Daemon::lookup(const AddressQuery& query) {
    const auto vrf = vrf_of(query.vrf);
    if (!vrf) return tl::unexpected(vrf.error());
    return show_lookup(control_->routing(), query.addresses, *vrf);
}

json Daemon::neighbours() {
    // The kernel tells nothing of a neighbour while it is being resolved; the packets that wait for it do.
    auto known = control_->routing().adjacencies().neighbours();
    for (const auto& waiting : slow_path_->all_waiting())
        known.try_emplace({waiting.interface, waiting.next_hop},
                          Neighbour{{}, NeighbourState::incomplete, false});
    json neighbours = json::array();
    for (const auto& [key, neighbour] : known) {
        const L3Interface* interface = control_->routing().interfaces().find(key.first);
        if (!interface) continue;
        neighbours.push_back(json{{"address", key.second.to_string()},
                                  {"interface", interface->name},
                                  {"mac", neighbour.usable() ? json(neighbour.mac.to_string()) : json()},
                                  {"state", to_string(neighbour.state)},
                                  {"static", neighbour.configured},
                                  {"waiting", slow_path_->waiting(key.first, key.second)}});
    }
    return {{"neighbours", std::move(neighbours)}};
}

json Daemon::events(const uint64_t& after) {
    json events = json::array();
    for (const auto& event : control_->events().all()) {
        if (event.id <= after) continue;
        const std::chrono::duration<double> time = event.time.time_since_epoch();
        events.push_back({{"id", event.id},
                          {"time", time.count()},
                          {"kind", to_string(event.kind)},
                          {"text", event.text}});
    }
    return {{"last", control_->events().last()}, {"events", std::move(events)}};
}

json Daemon::fpm() {
    return control_->fpm_routes().show();
}

json Daemon::counters() {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    json ports = json::object();
    pp_port_counters totals{};
    for (const auto& [name, port] : control_->ports().all()) {
        if (port.config.parent) continue;
        const auto counters = dataplane_->counters(port.port);
        ports[name] = counts_of(counters);
        if (const auto details = nic(port.port)) ports[name]["nic"] = statistics_of(*details);
        add_counters(totals, counters);
    }
    json slow_path = json::object();
    for (const auto& [name, count] : slow_path_->counters())
        slow_path[name] = count;
    PortStages* stages = dataplane_->port_stages();
    slow_path["malformed_punts"] = stages ? stages->malformed_punts() : 0;  // no foreign bytes in between
    return {{"time", now.count()},
            {"ports", std::move(ports)},
            {"totals", counts_of(totals)},
            {"slow_path", std::move(slow_path)},
            {"sflow", counters_of(sflow_->counts())},
            {"kernel_routes", counters_of(control_->kernel_routes_status())},
            {"routes", show_route_counters(control_->routing(), control_->route_counters())}};
}

json Daemon::latency() {
    json ports = json::object();
    for (const auto& [name, port] : control_->ports().all())
        if (!port.config.parent) ports[name] = latency_of(dataplane_->latency(port.port));
    return with_model({{"ports", std::move(ports)}});
}

json Daemon::workers() {
    std::map<PortId, std::string> names;
    for (const auto& [name, port] : control_->ports().all())
        if (!port.config.parent) names[port.port] = name;
    json workers = json::array();
    for (const WorkerState& state : dataplane_->workers()) {
        json queues = json::array();
        for (const auto& [port, queue, zero_copy] : state.queues)
            queues.push_back({{"port", names[port]}, {"queue", queue}, {"zero_copy", zero_copy}});
        workers.push_back({{"worker", state.index},
                           {"cpu", state.cpu ? json(*state.cpu) : json()},
                           {"polling", word_of(state.polling)},
                           {"queues", std::move(queues)},
                           {"stood_in", state.stood_in},
                           {"packets", state.counters.rx_packets},
                           {"bytes", state.counters.rx_bytes},
                           {"slots", state.slots ? slots_of(*state.slots) : json()}});
    }
    return {{"workers", std::move(workers)}};
}

json Daemon::offload() {
    return with_model(hot_ports_->show(control_->ports().names()));
}

json Daemon::offload_entries() {
    return hot_ports_->show_entries();
}

json Daemon::running_config() {
    return config::to_json(control_->config());
}

namespace {

CliRoutes::Edit edit_of(RouteEdit change) {
    switch (change) {
        case RouteEdit::add:
            return CliRoutes::Edit::add;
        case RouteEdit::replace:
            return CliRoutes::Edit::replace;
        default:
            return CliRoutes::Edit::remove;
    }
}

const char* done_by(RouteEdit change) {
    return change == RouteEdit::remove ? "removed" : "set";
}

}  // namespace

Result<json> Daemon::change_route(RouteEdit change, const config::StaticRoute& route) {
    const auto changed = control_->change_cli_routes(edit_of(change), {&route, 1});
    if (!changed) return tl::unexpected(changed.error().error);
    if (*changed != 0) spdlog::info("route {}: {} by hand", place_of(route).to_string(), done_by(change));
    const Routing& routing = control_->routing();
    const VrfId vrf = routing.vrf_by_name(route.vrf).value_or(default_vrf);
    const auto now = routing.route(route.prefix, fib::RouteSource::cli, vrf);
    const auto best = routing.rib(vrf).best(route.prefix);
    const bool is_best = now && best && best->source == now->source;
    return json{{"prefix", route.prefix.to_string()},
                {"vrf", route.vrf.empty() ? "default" : route.vrf},
                {"changed", *changed != 0},
                {"route", now ? show_route(routing, *now, is_best, &control_->route_counters()) : json()}};
}

tl::expected<json, config::Errors> Daemon::change_routes(RouteEdit change,
                                                         const std::vector<config::StaticRoute>& routes) {
    const auto changed = control_->change_cli_routes(edit_of(change), routes);
    if (!changed) {
        Error error = changed.error().error;
        const std::string where = "/routes/" + std::to_string(changed.error().index);
        error.message = error.where.empty() ? error.message : error.where + ": " + error.message;
        error.where = where;
        return tl::unexpected(config::Errors{std::move(error)});
    }
    if (*changed != 0) spdlog::info("{} routes {} by hand", *changed, done_by(change));
    return json{{"routes", routes.size()}, {"changed", *changed}};
}

}  // namespace pktpit::router
