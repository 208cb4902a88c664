// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/capture_observer.h"

#include "router/forward/forward.h"
#include "router/observe/pcapng.h"

namespace pktpit::router {
namespace {

uint64_t monotonic_now() {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::string reason_of(pp_verdict verdict) {
    return std::string(name_of(verdict)) + ": " + meaning_of(verdict);
}

}  // namespace

CaptureObserver::CaptureObserver(ObservationRequest request, const ObserverEnvironment& environment)
    : Observer(std::move(request), environment) {
    (void)stream()->push(pcapng::section_header("pktpit " PKTPIT_VERSION));
}

void CaptureObserver::show(const Observation& seen) {
    const auto& points = request().points;
    const bool dropped = seen.point() == PP_POINT_DROP;
    const bool drop_point = dropped && points.contains(CapturePoint::drop);
    if (drop_point || points.contains(CapturePoint::ingress)) {
        const std::vector<uint8_t> bytes = seen.ingress(request().snaplen);
        // Once, where both points are asked for. What is not forwarded says why.
        frame(seen.port, seen, bytes, true, seen.point() == PP_POINT_EGRESS ? "" : reason_of(seen.verdict));
    }
    if (seen.point() == PP_POINT_EGRESS && points.contains(CapturePoint::egress))
        frame(seen.egress_port, seen,
              seen.frame.first(std::min<size_t>(seen.frame.size(), request().snaplen)), false, "");
}

void CaptureObserver::frame(uint16_t port, const Observation& seen, std::span<const uint8_t> bytes,
                            bool inbound, std::string_view comment) {
    const std::string name = environment().port_name(port);
    const uint32_t length = inbound ? seen.frame_length : seen.end_length;
    if (name.empty() || (!request().port.empty() && request().port != name) || !wants(bytes, length)) return;
    // A description that is lost would shift the numbers of all that follow, so it goes with its first frame.
    std::string blocks;
    const auto number = static_cast<uint32_t>(interfaces_.size());
    const auto [interface, added] = interfaces_.try_emplace(port, number);
    if (added)
        blocks = pcapng::interface(name, "port of pktpit, " + std::string(environment().forwarding(port)),
                                   request().snaplen);
    blocks += pcapng::enhanced_packet(
        {interface->second, environment().time_of_day(inbound ? seen.start : seen.end), length, bytes,
         inbound ? pcapng::Direction::inbound : pcapng::Direction::outbound, comment});
    const uint64_t before = delivered();
    deliver(port, blocks);
    if (delivered() != before)
        received_[port]++;
    else if (added)
        interfaces_.erase(interface);
}

std::string CaptureObserver::last_words() const {
    std::string blocks;
    uint32_t number = static_cast<uint32_t>(interfaces_.size());
    const uint64_t now = environment().time_of_day(monotonic_now());
    for (const auto& [port, interface] : interfaces_) {
        const auto received = received_.find(port);
        const uint64_t frames = received == received_.end() ? 0 : received->second;
        blocks += pcapng::interface_statistics(interface, now, frames + lost(port), lost(port));
    }
    // Losses of ports that nothing is in the file of.
    for (uint16_t port = 1; port < PP_MAX_PORTS; port++) {
        if (lost(port) == 0 || interfaces_.contains(port)) continue;
        const std::string name = environment().port_name(port);
        if (name.empty()) continue;
        blocks += pcapng::interface(name, "", request().snaplen) +
                  pcapng::interface_statistics(number++, now, lost(port), lost(port));
    }
    return blocks;
}

}  // namespace pktpit::router
