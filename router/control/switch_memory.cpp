// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/switch_memory.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

namespace pktpit::router {

SwitchMemory::SwitchMemory(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    state_.network_namespace = current_network_namespace();
    auto known = load_run_state(path_);
    if (!known)
        spdlog::warn("{}; devices' switches of before are not known", known.error().to_string());
    else if (*known && (*known)->network_namespace == state_.network_namespace)
        state_ = std::move(**known);
}

Result<bool> SwitchMemory::remember(uint32_t ifindex, const SwitchValues& now) {
    SwitchValues& values = state_.switches[ifindex];
    const size_t known = values.size();
    values.insert(now.begin(), now.end());
    if (values.empty()) state_.switches.erase(ifindex);
    if (values.size() == known) return false;
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
    return true;
}

SwitchValues SwitchMemory::before(uint32_t ifindex) const {
    const auto found = state_.switches.find(ifindex);
    return found == state_.switches.end() ? SwitchValues() : found->second;
}

void SwitchMemory::forget(uint32_t ifindex) {
    if (state_.switches.erase(ifindex) == 0) return;
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().to_string());
}

void SwitchMemory::forget_all() {
    state_.switches.clear();
    (void)save();
}

std::vector<uint32_t> SwitchMemory::devices() const {
    std::vector<uint32_t> devices;
    for (const auto& [ifindex, values] : state_.switches)
        devices.push_back(ifindex);
    return devices;
}

// Nothing to put back, no file.
Result<void> SwitchMemory::save() const {
    if (path_.empty()) return {};
    if (!state_.switches.empty()) return save_run_state(path_, state_);
    ::unlink(path_.c_str());
    return {};
}

}  // namespace pktpit::router
