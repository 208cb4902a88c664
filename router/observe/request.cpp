// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/request.h"

#include <charconv>
#include <string_view>

#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

tl::unexpected<Error> bad(const std::string& name, const std::string& value, std::string expected) {
    return fail("?" + name.substr(0, 60), "\"" + value.substr(0, 60) + "\"", std::move(expected));
}

Result<uint64_t> number(const std::string& name, const std::string& value, uint64_t least, uint64_t most) {
    uint64_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size() || parsed < least || parsed > most)
        return bad(name, value, "a number from " + std::to_string(least) + " to " + std::to_string(most));
    return parsed;
}

Result<void> add_verdict(std::set<pp_verdict>& verdicts, const std::string& name, const std::string& value) {
    bool known = false;
    for (int i = PP_NONE + 1; i < PP_VERDICT_COUNT; i++) {
        const auto verdict = static_cast<pp_verdict>(i);
        const pp_action action = action_of(verdict);
        const bool in_class = (value == "drop" && action == PP_ACTION_DROP) ||
                              (value == "host" && action == PP_ACTION_HOST) ||
                              (value == "punt" && action == PP_ACTION_PUNT);
        if (!in_class && value != name_of(verdict)) continue;
        verdicts.insert(verdict);
        known = true;
    }
    if (!known)
        return bad(name, value, "drop, host, punt or the name of a verdict, as in `pktpit show counters`");
    return {};
}

Result<void> set_value(ObservationRequest& request, const std::string& name, const std::string& value) {
    constexpr uint64_t any = UINT32_MAX;
    if (name == "filter") {
        auto filter = PacketFilter::compile(value);
        if (!filter) {
            Error error = filter.error();
            error.where = "?filter";
            return tl::unexpected(error);
        }
        request.filter = std::move(*filter);
    } else if (name == "port") {
        request.port = value;
    } else if (name == "verdict" && request.trace) {
        return add_verdict(request.verdicts, name, value);
    } else if (name == "point" && !request.trace) {
        if (value == "ingress")
            request.points.insert(CapturePoint::ingress);
        else if (value == "egress")
            request.points.insert(CapturePoint::egress);
        else if (value == "drop")
            request.points.insert(CapturePoint::drop);
        else
            return bad(name, value, "ingress, egress or drop");
    } else if (name == "count" || name == "seconds" || name == "sample" ||
               (name == "snaplen" && !request.trace)) {
        const auto parsed = number(name, value, 1, name == "snaplen" ? PP_OBSERVED_BYTES : any);
        if (!parsed) return tl::unexpected(parsed.error());
        if (name == "count") request.count = *parsed;
        if (name == "seconds") request.duration = std::chrono::seconds(*parsed);
        if (name == "sample") request.one_in = static_cast<uint32_t>(*parsed);
        if (name == "snaplen") request.snaplen = static_cast<uint32_t>(*parsed);
    } else {
        return fail("?" + name.substr(0, 60), "unknown query parameter",
                    request.trace ? "filter, port, verdict, count, seconds, sample"
                                  : "filter, port, point, count, seconds, sample, snaplen");
    }
    return {};
}

}  // namespace

Result<ObservationRequest> parse_observation_request(bool trace,
                                                     const std::multimap<std::string, std::string>& query) {
    ObservationRequest request;
    request.trace = trace;
    // All headers that a trace prints are in the slice.
    if (trace) request.snaplen = PP_SLICE_BYTES;
    for (const auto& [name, value] : query) {
        if (query.count(name) > 1 && name != "verdict" && name != "point")
            return fail("?" + name.substr(0, 60), "given " + std::to_string(query.count(name)) + " times",
                        "once");
        if (auto set = set_value(request, name, value); !set) return tl::unexpected(set.error());
    }
    // As dumpcap on a device: what comes in and what goes out.
    if (!trace && request.points.empty()) request.points = {CapturePoint::ingress, CapturePoint::egress};
    return request;
}

}  // namespace pktpit::router
