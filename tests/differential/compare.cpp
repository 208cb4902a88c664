// SPDX-License-Identifier: BSD-3-Clause
#include "tests/differential/compare.h"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <tuple>

#include "router/forward/batch.h"
#include "tests/unit/forward/plain_rig.h"

namespace pktpit::test {
namespace {

Bytes egress_frame(const router::Decision& decision, const Bytes& in) {
    Bytes out(decision.header.begin(), decision.header.begin() + decision.header_length);
    out.insert(out.end(), in.begin() + decision.consumed, in.end() - decision.trailer);
    return out;
}

int expected_action(pp_action action) {
    if (action == PP_ACTION_FORWARD) return XDP_REDIRECT;
    return action == PP_ACTION_HOST ? XDP_PASS : XDP_DROP;
}

std::string difference_of(const router::Decision& decision, const Outcome& outcome, uint16_t port,
                          const Bytes& in) {
    if (outcome.verdicts_counted != 1) return fmt::format("{} verdicts counted", outcome.verdicts_counted);
    if (outcome.verdict != decision.verdict)
        return fmt::format("eBPF says {}, forward() {}", router::name_of(outcome.verdict),
                           router::name_of(decision.verdict));
    const pp_action action = router::action_of(decision.verdict);
    if (outcome.action != expected_action(action)) return fmt::format("XDP action {}", outcome.action);
    if (outcome.ingress.rx_packets != 1 || outcome.ingress.rx_bytes != in.size())
        return fmt::format("rx counted {} packets, {} bytes", outcome.ingress.rx_packets,
                           outcome.ingress.rx_bytes);
    const bool counted = action == PP_ACTION_FORWARD && decision.route_counter != 0;
    if (outcome.route.packets != (counted ? 1 : 0))
        return fmt::format("route counter {}: {} packets", decision.route_counter, outcome.route.packets);
    const size_t sent = in.size() - decision.consumed - decision.trailer + decision.header_length;
    if (outcome.route.bytes != (counted ? sent : 0))
        return fmt::format("route counter {}: {} bytes of {}", decision.route_counter, outcome.route.bytes,
                           sent);
    const Bytes expected = action == PP_ACTION_FORWARD ? egress_frame(decision, in) : in;
    if (outcome.frame != expected)
        return fmt::format("bytes differ\n  eBPF      {}\n  forward() {}", hex(outcome.frame), hex(expected));
    const auto is_copy = [&](const Punt& punt) {
        return punt.header.copy == 1 && action == PP_ACTION_FORWARD &&
               decision.egress_interface == decision.ingress_interface;
    };
    if (action != PP_ACTION_PUNT)
        return std::ranges::all_of(outcome.punts, is_copy) ? "" : "punted what is no punt";
    if (outcome.punts.size() != 1) return fmt::format("{} punt records", outcome.punts.size());
    const Punt& punt = outcome.punts.front();
    if (punt.header.port != port || punt.header.verdict != decision.verdict || punt.header.copy != 0 ||
        punt.header.frame_length != in.size())
        return "punt header wrong";
    return punt.frame == in ? "" : "punted frame differs";
}

bool same(const router::Decision& a, const router::Decision& b) {
    const auto facts = [](const router::Decision& d) {
        return std::tie(d.verdict, d.egress_port, d.egress_interface, d.adjacency, d.route_counter, d.mtu,
                        d.l3_offset, d.ingress_interface, d.parameter_pointer, d.consumed, d.header_length,
                        d.trailer, d.filter_in, d.filter_out);
    };
    return facts(a) == facts(b) &&
           std::equal(a.header.begin(), a.header.begin() + a.header_length, b.header.begin());
}

}  // namespace

std::string hex(const Bytes& frame) {
    constexpr size_t shown = 200;
    std::string text = fmt::format("{} bytes ", frame.size());
    for (size_t i = 0; i < std::min(frame.size(), shown); i++)
        text += fmt::format("{:02x}", frame[i]);
    return text;
}

Comparison compare(LoadedPortStage& port_stage, uint16_t port, const Bytes& frame) {
    Comparison c;
    const router::ImageView image{port_stage.memory().data(), &port_stage.geometry(), port_stage.filters(),
                                  port_stage.published_guard()};
    const std::span<const uint8_t> slice(frame.data(), std::min<size_t>(frame.size(), PP_SLICE_BYTES));
    c.decision = router::forward(image, port, slice, static_cast<uint32_t>(frame.size()));
    // Workers decide by batches, and about plain packets another way.
    const router::IngressFrame in{port, slice, static_cast<uint32_t>(frame.size())};
    router::Decision batched;
    router::Forwarder(image).forward({&in, 1}, {&batched, 1});
    if (!same(batched, c.decision)) {
        c.difference = fmt::format("a batch says {}, or other bytes; one by one {}",
                                   router::name_of(batched.verdict), router::name_of(c.decision.verdict));
        return c;
    }
    for (const auto variant : router::test::cpu_variants()) {
        const router::test::PlainFrame plain{port, Bytes(slice.begin(), slice.end()), in.frame_length};
        c.difference = router::test::PlainRig(image, variant).difference({&plain, 1});
        if (c.difference.empty()) continue;
        c.difference = fmt::format("the plain way ({}): {}", fib::to_string(variant), c.difference);
        return c;
    }
    c.outcome = port_stage.run(port, frame, c.decision.route_counter);
    c.difference = difference_of(c.decision, c.outcome, port, frame);
    return c;
}

}  // namespace pktpit::test
