// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/stack_redirects.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/errno_text.h"
#include "router/xdp/skeleton.h"
#include "stack_redirect.skel.h"

namespace pktpit::router {
namespace {

// linux/bpf.h of Linux 6.6, which Debian 12's headers are older than.
constexpr auto tcx_ingress = static_cast<bpf_attach_type>(46);
constexpr uint32_t link_type_tcx = 11;
constexpr std::string_view pin_prefix = "stack_";

std::string pin_name(uint32_t ifindex) {
    return std::string(pin_prefix) + std::to_string(ifindex);
}

std::optional<uint32_t> device_of_pin(std::string_view name) {
    if (!name.starts_with(pin_prefix)) return std::nullopt;
    name.remove_prefix(pin_prefix.size());
    uint32_t ifindex = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), ifindex);
    return error == std::errc{} && stop == name.data() + name.size() ? std::optional(ifindex) : std::nullopt;
}

/// The device that a tcx link is on; 0: it has been detached. Nothing: it is none, or the kernel does not
/// say.
std::optional<uint32_t> device_of_link(int link) {
    bpf_link_info info{};
    uint32_t length = sizeof info;
    if (bpf_obj_get_info_by_fd(link, &info, &length) != 0 || info.type != link_type_tcx) return std::nullopt;
    return info.xdp.ifindex;  // it stands where that of an XDP link does
}

}  // namespace

Result<void> StackRedirects::load() {
    const std::unique_ptr<stack_redirect, void (*)(stack_redirect*)> object(stack_redirect__open_and_load(),
                                                                            stack_redirect__destroy);
    if (!object)
        return fail("stack_redirect", "the kernel refuses the eBPF program: " + errno_text(errno), "",
                    privileges_hint(errno));
    program_ = Fd(::dup(bpf_program__fd(object->progs.stack_redirect)));
    return {};
}

// A device that has moved to another network namespace, or has gone, is not the one of its old number.
Fd StackRedirects::left_on(uint32_t ifindex) const {
    Fd link = pins_->get(pin_name(ifindex));
    if (link && device_of_link(link.get()) == ifindex) return link;
    if (link) pins_->remove(pin_name(ifindex));
    return {};
}

Result<void> StackRedirects::put_on(uint32_t ifindex, const std::string& device) {
    if (devices_.contains(ifindex)) return {};
    OnDevice& on = devices_[ifindex];
    if (Fd left = left_on(ifindex)) {
        on.link = std::move(left);
        return {};
    }
    if (!program_)
        if (auto loaded = load(); !loaded) return loaded;
    Fd link(bpf_link_create(program_.get(), static_cast<int>(ifindex), tcx_ingress, nullptr));
    if (!link)
        return fail(device, "the kernel takes no tcx program: " + errno_text(errno), "Linux 6.6",
                    privileges_hint(errno));
    if (auto pinned = pins_->put(pin_name(ifindex), link.get()); !pinned) return pinned;
    on = {std::move(link), true};
    return {};
}

bool StackRedirects::is_on(uint32_t ifindex) const {
    const auto found = devices_.find(ifindex);
    return found != devices_.end() && found->second.link;
}

bool StackRedirects::was_detached(uint32_t ifindex) const {
    return is_on(ifindex) && device_of_link(devices_.at(ifindex).link.get()).value_or(ifindex) != ifindex;
}

void StackRedirects::take_off(uint32_t ifindex) {
    devices_.erase(ifindex);
    pins_->remove(pin_name(ifindex));
}

void StackRedirects::undo() {
    for (const auto& [ifindex, on] : devices_)
        if (on.made) pins_->remove(pin_name(ifindex));
    devices_.clear();
}

void StackRedirects::keep_only(const std::set<uint32_t>& devices) const {
    for (const std::string& name : pins_->names())
        if (const auto ifindex = device_of_pin(name); ifindex && !devices.contains(*ifindex))
            pins_->remove(name);
}

}  // namespace pktpit::router
