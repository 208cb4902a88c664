// SPDX-License-Identifier: BSD-3-Clause
// Which ports redirected frames reach, which way frames take to the others, and whether a port still has its
// program.
#include <bpf/bpf.h>
#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "router/xdp/dataplane.h"
#include "router/xdp/dispatcher.h"
#include "router/xdp/redirect_targets.h"

namespace pktpit::router {

// Of a port that is only prepared: as an earlier daemon has left it, else native. The kernel is asked about
// each of the others once, since the question waits for its networking lock.
bool XdpDataplane::is_native(uint16_t port) {
    const auto found = ports_.find(port);
    if (found == ports_.end()) {
        const auto earlier = earlier_.find(devices_.at(port).first);
        return earlier == earlier_.end() || earlier->second.mode == AttachMode::native;
    }
    Port& attached = found->second;
    if (!attached.mode) attached.mode = attached_program(attached.ifindex).mode;
    return *attached.mode == AttachMode::native;
}

// Before Linux 6.3 the kernel does not say. A driver that runs no native program sends no frames for one.
bool XdpDataplane::takes_redirects(uint16_t port, uint32_t ifindex) {
    return targets_ ? targets_->takes_redirects(ifindex).value_or(true) : is_native(port);
}

// A port whose device takes no redirects is no target while a native program might redirect to it: the port
// stage then finds none and takes another way (PP_PORT_NO_REDIRECT). Generic programs reach every device.
void XdpDataplane::choose_targets() {
    std::erase_if(not_redirected_, [this](uint16_t port) { return !devices_.contains(port); });
    const bool any_native =
        std::ranges::any_of(devices_, [this](const auto& entry) { return is_native(entry.first); });
    const bool any_zero_copy = split_ && split_->any_zero_copy();
    for (const auto& [port, device] : devices_) {
        const uint32_t ifindex = device.first;
        const bool room = !any_zero_copy || !wants_headroom(device.second);
        const bool reached = !any_native || (room && takes_redirects(port, ifindex));
        const bool was_not = not_redirected_.erase(port) != 0;
        if (!reached || (was_not && !set_target(port, ifindex))) not_redirected_.insert(port);
    }
    open_stack();
    for (const auto& [port, device] : devices_)
        if (not_redirected_.contains(port)) (void)set_target(port, device.first);
}

// With aggregation all that is redirected meets the program of results: bpf/aggregate.h says why.
bool XdpDataplane::set_target(uint16_t port, uint32_t ifindex) const {
    return set_tx_port(maps_, port, ifindex, !not_redirected_.contains(port),
                       sums_ ? sums_->maps().egress() : 0);
}

bool XdpDataplane::set_targets() const {
    return std::ranges::all_of(
        devices_, [this](const auto& entry) { return set_target(entry.first, entry.second.first); });
}

void XdpDataplane::set_otherwise(uint16_t port, pp_otherwise way) {
    __atomic_store_n(&auto_->order()->otherwise[port], static_cast<uint8_t>(way), __ATOMIC_RELEASE);
}

// On every native port's device, before the first frame needs it. What is there once stays, since frames may
// be on their way, and what somebody has taken off is put on again: without it those frames are the host's.
void XdpDataplane::open_stack() {
    if (not_redirected_.empty()) return;
    for (const auto& [port, device] : devices_) {
        if (!is_native(port)) {
            set_otherwise(port, PP_OTHERWISE_REDIRECT);
            if (committed_) stack_->take_off(device.first);  // else it may be an earlier daemon's
            continue;
        }
        if (stack_->was_detached(device.first) && ::if_nametoindex(device.second.c_str()) == device.first) {
            spdlog::warn(
                "{}: the tcx program that sends what others cannot redirect had been detached: it is put on "
                "again",
                device.second);
            stack_->take_off(device.first);
        }
        auto put = stack_->put_on(device.first, device.second);
        if (!put && !std::exchange(no_stack_told_, true))
            spdlog::warn("{}; the daemon sends what other ports cannot redirect", put.error().to_string());
        // One that is only prepared may become generic.
        const bool known = ports_.contains(port) || earlier_.contains(device.first);
        set_otherwise(port, known && stack_->is_on(device.first) ? PP_OTHERWISE_STACK : PP_OTHERWISE_DAEMON);
    }
}

std::string XdpDataplane::why_not_redirected(uint16_t port) {
    if (std::exchange(targets_stale_, false)) choose_targets();
    if (!not_redirected_.contains(port)) return "";
    const auto& [ifindex, device] = devices_.at(port);
    return takes_redirects(port, ifindex) ? why_no_headroom() : why_no_redirects(device);
}

std::string_view XdpDataplane::sent_by(uint16_t port) const {
    if (!not_redirected_.contains(port)) return "redirect";
    const auto& otherwise = auto_->order()->otherwise;
    const auto by_kernel = [&](const auto& entry) {
        return otherwise[entry.first] != PP_OTHERWISE_DAEMON || !ports_.contains(entry.first);
    };
    return std::ranges::all_of(devices_, by_kernel) ? "stack" : "daemon";
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

std::function<std::string()> XdpDataplane::program_look() const {
    std::vector<uint32_t> devices;
    for (const auto& [port, attached] : ports_)
        devices.push_back(attached.ifindex);
    return [devices = std::move(devices)] {
        std::string seen;
        for (const uint32_t ifindex : devices) {
            const auto program = ask_attached_program(ifindex);
            seen +=
                std::to_string(ifindex) + " " + (program ? std::to_string(program->program_id) : "?") + "\n";
        }
        return seen;
    };
}

}  // namespace pktpit::router
