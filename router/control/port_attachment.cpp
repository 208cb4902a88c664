// SPDX-License-Identifier: BSD-3-Clause
// The dataplane on the ports.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/ports.h"

namespace pktpit::router {
// What can be refused comes first: programs and sockets, then ports that nobody forwards on, then those of an
// earlier daemon, whose programs are swapped.
Result<void> Ports::attach_all(Transaction& transaction, const std::function<Result<void>()>& go_on) {
    std::vector<Port*> unattached;
    for (auto& [name, port] : ports_)
        if (is_port(port.config) && !port.attachment && port.ifindex != 0) unattached.push_back(&port);
    PortStages* stages = dataplane_.port_stages();
    if (stages)
        std::stable_partition(unattached.begin(), unattached.end(), [&](const Port* port) {
            return !stages->previous_ports().contains(port->ifindex);
        });
    for (Port* port : unattached) {
        if (auto wanted = go_on(); !wanted) return wanted;
        transaction.on_rollback(port->config.name, [this, name = port->config.name] {
            if (const auto found = ports_.find(name); found != ports_.end()) detach(found->second);
        });
        if (auto prepared = dataplane_.prepare(port->port, port->ifindex, port->config); !prepared)
            return prepared;
    }
    follow_reachability();  // before the first frame can leave by one of them
    if (stages) transaction.on_rollback("ports", [stages] { stages->give_back_all(); });
    for (Port* port : unattached) {
        if (auto wanted = go_on(); !wanted) return wanted;
        if (auto attached = attach(*port); !attached) return attached;
    }
    follow_reachability();
    return {};
}

void Ports::detach(Port& port) {
    if (port.attachment) events_.add(EventKind::port, port.config.name + ": port stage detached");
    dataplane_.detach(port.port);
    port.attachment.reset();
    port.why_not_redirected.clear();
    port.told_not_redirected.clear();
}

Result<void> Ports::attach(Port& port) {
    auto attached = dataplane_.attach(port.port, port.ifindex, port.config);
    if (!attached) return tl::unexpected(attached.error());
    port.attachment = *attached;
    port.failure_told = false;
    const auto mode = to_string(attached->mode);
    events_.add(EventKind::port,
                port.config.name +
                    (attached->adopted ? ": took over the running port stage (" : ": port stage attached (") +
                    std::string(mode) + " mode)");
    if (attached->adopted)
        spdlog::info("{}: took over the running port stage ({} mode)", port.config.name, mode);
    else
        spdlog::info("{}: port stage attached ({} mode)", port.config.name, mode);
    if (!attached->why_no_dispatcher.empty())
        spdlog::warn("{}: {}; it has the device to itself, by a plain BPF link", port.config.name,
                     attached->why_no_dispatcher);
    if (!attached->warning.empty()) spdlog::warn("{}: {}", port.config.name, attached->warning);
    if (attached->mode == AttachMode::generic && !attached->why_generic.empty())
        spdlog::warn("{}: native XDP refused ({}), so it runs in generic mode, which is slower",
                     port.config.name, attached->why_generic);
    return {};
}

// In the way that it was before. A port that is attached in that mode gets its former program without a
// moment in between.
Result<void> Ports::reattach(const std::string& name, const Dataplane::Attachment& before) {
    Port& port = ports_.at(name);
    if (port.ifindex == 0) return {};
    if (port.attachment && port.attachment->mode != before.mode) detach(port);
    config::Interface settings = port.config;
    if (settings.xdp_mode == config::XdpMode::automatic && before.mode == AttachMode::generic)
        settings.xdp_mode = config::XdpMode::generic;
    auto attached = dataplane_.attach(port.port, port.ifindex, settings);
    if (!attached) return tl::unexpected(attached.error());
    port.attachment = *attached;
    port.attachment->why_generic = before.why_generic;
    return {};
}

void Ports::note_stand_ins() {
    PortStages* stages = dataplane_.port_stages();
    if (!stages) return;
    for (const auto& [name, port] : ports_) {
        if (!port.attachment || dataplane_.forwarding(port.port) == "inline") continue;
        const StandIn now = stages->stand_in(port.port);
        const uint64_t told = std::exchange(stood_in_[name], now.times);
        if (now.times > told)
            events_.add(EventKind::port,
                        name + ": its worker stood still, and the port stage stood in for it (" +
                            std::to_string(now.times) + " times so far)");
    }
}

void Ports::retry() {
    note_stand_ins();
    (void)give_former_roles_back();
    for (auto& [name, port] : ports_) {
        // Of a device that has its name back: the kernel tells of it before its sysctls have it.
        // Where there is no IPv6 some never come.
        if (port.role_due && port.role_tries != 0 && port.ifindex != 0) {
            port.role_tries--;
            if (auto taken = take_role(port); !taken) spdlog::warn("{}", taken.error().to_string());
        }
        if (!is_port(port.config) || port.attachment || port.ifindex == 0) continue;
        if (auto attached = attach(port); !attached && !std::exchange(port.failure_told, true))
            spdlog::error("{}; trying again", attached.error().to_string());
    }
}

}  // namespace pktpit::router
