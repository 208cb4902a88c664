// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/trace_json.h"

#include "router/daemon/show_routes.h"
#include "router/forward/forward.h"
#include "router/observe/headers.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

/// Who decided: the port's own stage, or the control loop that it handed the header to.
std::string mode_of(const Observation& seen, const ObserverEnvironment& environment) {
    const std::string_view forwarding = environment.forwarding(seen.port);
    if (forwarding == "auto") return seen.by_worker ? "auto miss" : "auto hit";
    return seen.by_worker ? "split" : "inline";
}

json steps_of(const Observation& seen) {
    // A clock that has gone back, or a record's bytes that are not what they seem.
    const auto since = [&](uint64_t time) { return time < seen.start ? 0 : time - seen.start; };
    if (!seen.by_worker)
        return json::array({{{"step", "port_stage_begin"}, {"ns", 0}},
                            {{"step", "port_stage_end"}, {"ns", since(seen.end)}}});
    return json::array(
        {{{"step", "slice"}, {"ns", 0}},
         {{"step", "decision"}, {"ns", since(seen.decided)}},
         {{"step", seen.verdict == PP_FORWARDED ? "doorbell" : "done"}, {"ns", since(seen.end)}}});
}

/// By filters, checks of sources and rates, which are not asked again.
bool is_of_interfaces(pp_verdict verdict) {
    return verdict == PP_DROP_FILTER || verdict == PP_HOST_FILTER ||
           (verdict >= PP_DROP_RPF && verdict <= PP_DROP_HOST_OTHER);
}

json name_or_null(std::string name) {
    return name.empty() ? json() : json(std::move(name));
}

json lookup_of(const Observation& seen, std::span<const uint8_t> frame, const Decision& decision,
               const Routing& routing) {
    const auto destination = destination_of(frame);
    if (!destination) return nullptr;
    const L3Interface* interface = routing.interfaces().find(decision.ingress_interface);
    const VrfId vrf = interface ? interface->vrf : default_vrf;
    json lookup{{"interface", interface ? json(interface->name) : json()},
                {"vrf", vrf_label(routing, vrf)},
                {"destination", destination->to_string()},
                {"prefix", nullptr},
                {"source", nullptr},
                {"group", nullptr},
                {"adjacency", nullptr},
                {"as_the_packet_met",
                 (decision.verdict == seen.verdict || is_of_interfaces(seen.verdict)) &&
                     (seen.verdict != PP_FORWARDED || decision.egress_port == seen.egress_port)}};
    if (const auto best = routing.match(*destination, vrf)) {
        lookup["prefix"] = best->prefix.to_string();
        lookup["source"] = fib::to_string(best->source);
        lookup["group"] = routing.image()
                              .find(best->prefix, routing.table_of(vrf))
                              .value_or(routing.next_hop_sets().group_of(best->next_hops));
    }
    if (decision.adjacency != 0) lookup["adjacency"] = show_adjacency(routing, decision.adjacency);
    return lookup;
}

}  // namespace

json trace_packet(const Observation& seen, std::span<const uint8_t> frame, const Routing& routing,
                  const ObserverEnvironment& environment) {
    const ImageView image{routing.image().memory().data(), &routing.image().geometry()};
    const Decision decision = forward(image, seen.port, frame, seen.frame_length);
    json packet{{"time", static_cast<double>(environment.time_of_day(seen.start)) / 1e9},
                {"port", name_or_null(environment.port_name(seen.port))},
                {"mode", mode_of(seen, environment)},
                {"length", seen.frame_length},
                {"headers", headers_of(frame)},
                {"lookup", lookup_of(seen, frame, decision, routing)},
                {"verdict", name_of(seen.verdict)},
                {"action", name_of(action_of(seen.verdict))},
                {"meaning", meaning_of(seen.verdict)},
                {"egress", nullptr},
                {"slow_path", nullptr},
                {"steps", steps_of(seen)}};
    if (seen.point() == PP_POINT_EGRESS)
        packet["egress"] = {{"port", name_or_null(environment.port_name(seen.egress_port))},
                            {"length", seen.end_length},
                            {"headers", headers_of(seen.frame)}};
    return packet;
}

json trace_slow_path(const SlowPathWork& work, const ObserverEnvironment& environment) {
    json sent = json::array();
    for (const auto& frame : work.sent)
        sent.push_back({{"port", name_or_null(environment.port_name(frame.port))},
                        {"length", frame.length},
                        {"headers", headers_of(frame.begin)}});
    return {{"steps", work.steps}, {"sent", std::move(sent)}};
}

}  // namespace pktpit::router
