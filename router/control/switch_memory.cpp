// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/switch_memory.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

namespace pktpit::router {

Result<SwitchMemory> SwitchMemory::open(std::string path) {
    SwitchMemory memory(std::move(path));
    if (memory.path_.empty()) return memory;
    memory.state_.network_namespace = current_network_namespace();
    const auto text = read_run_state_file(memory.path_);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return memory;
    auto known = parse_run_state(**text, memory.path_);
    if (!known)
        spdlog::warn("{}; what devices' switches were before is not known", known.error().to_string());
    else if (known->network_namespace == memory.state_.network_namespace)
        memory.state_ = std::move(*known);
    return memory;
}

Result<void> SwitchMemory::remember(uint32_t ifindex, const SwitchValues& now) {
    if (now.empty()) return {};
    SwitchValues& values = state_.switches[ifindex];
    const size_t known = values.size();
    values.insert(now.begin(), now.end());
    return values.size() == known ? Result<void>() : save();
}

void SwitchMemory::pass_on(std::string_view name, uint32_t from, uint32_t to) {
    const auto found = state_.switches.find(from);
    if (found == state_.switches.end() || from == to) return;
    const auto value = found->second.find(name);
    if (value == found->second.end()) return;
    state_.switches[to].insert(*value);
    found->second.erase(value);
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().to_string());
}

SwitchValues SwitchMemory::before(uint32_t ifindex) const {
    const auto found = state_.switches.find(ifindex);
    return found == state_.switches.end() ? SwitchValues() : found->second;
}

void SwitchMemory::forget(uint32_t ifindex) {
    if (state_.switches.erase(ifindex) == 0) return;
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().to_string());
}

void SwitchMemory::forget(uint32_t ifindex, const SwitchValues& those) {
    const auto found = state_.switches.find(ifindex);
    if (found == state_.switches.end()) return;
    for (const auto& [name, value] : those)
        found->second.erase(name);
    if (found->second.empty()) state_.switches.erase(found);
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().to_string());
}

void SwitchMemory::forget_others(const std::vector<uint32_t>& kept) {
    std::erase_if(state_.switches,
                  [&](const auto& entry) { return std::ranges::find(kept, entry.first) == kept.end(); });
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().to_string());
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
