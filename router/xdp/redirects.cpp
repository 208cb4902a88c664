// SPDX-License-Identifier: BSD-3-Clause
// Which ports redirected frames reach, and whether a port still has its program.
#include <bpf/bpf.h>

#include <algorithm>

#include "router/xdp/dataplane.h"
#include "router/xdp/dispatcher.h"

namespace pktpit::router {

// A port whose device takes no redirects is no target while a native program might redirect to it: the port
// stage then finds none and hands the frame to the daemon (PP_PORT_BY_DAEMON). Generic programs reach every
// device.
void XdpDataplane::choose_targets() {
    if (!targets_) return;
    const bool any_native = std::ranges::any_of(ports_, [](const auto& entry) {
        return attached_program(entry.second.ifindex).mode == AttachMode::native;
    });
    for (const auto& [port, attached] : ports_) {
        const bool by_daemon = any_native && !targets_->takes_redirects(attached.ifindex).value_or(true);
        if (by_daemon == by_daemon_.contains(port)) continue;
        const uint32_t key = port;
        if (by_daemon) {
            by_daemon_.insert(port);
            bpf_map_delete_elem(maps_.tx_ports.get(), &key);
        } else if (bpf_map_update_elem(maps_.tx_ports.get(), &key, &attached.ifindex, BPF_ANY) == 0) {
            by_daemon_.erase(port);
        }
    }
}

std::string XdpDataplane::why_not_redirected(uint16_t port) const {
    return by_daemon_.contains(port) ? "its device takes no redirected frames" : "";
}

std::string XdpDataplane::why_detached(uint16_t port) const {
    const auto found = ports_.find(port);
    if (found == ports_.end()) return {};
    const Port& attached = found->second;
    if (attached.dispatched != 0) {
        const auto there = dispatched_port_stages(attached.ifindex);
        return std::ranges::find(there, attached.dispatched) != there.end() ? "" : "not in the dispatcher";
    }
    const auto read = link_target(attached.link.get());
    if (!read) return {};
    const LinkTarget& target = *read;
    if (target.ifindex == 0) return "its link has been detached";
    const auto program = ask_attached_program(attached.ifindex);
    if (!program) return {};  // a question that was refused is no answer
    const uint32_t there = program->program_id;
    if (there == target.program_id) return {};
    return there == 0 ? "no program" : "another program, id " + std::to_string(there);
}

}  // namespace pktpit::router
