// SPDX-License-Identifier: BSD-3-Clause
/// What the devices' switches were before the router turned them, in the instance's state file
/// (dataplane/run_state.h), so that it outlives a daemon that is killed. Used by Ports, on the daemon's
/// thread; what an earlier daemon has noted is known from the start, if it was in this network namespace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/dataplane/run_state.h"

namespace pktpit::router {

class SwitchMemory {
  public:
    /// `path` empty: nothing outlives the daemon. Error: there is a file, and it cannot be read.
    static Result<SwitchMemory> open(std::string path);

    /// To be called before any of them is turned. What is known already stays. Error: it is known, but will
    /// not be to a later daemon.
    Result<void> remember(uint32_t ifindex, const SwitchValues& now);
    /// What was noted of a switch with one device is noted with the other from now on.
    void pass_on(std::string_view name, uint32_t from, uint32_t to);
    [[nodiscard]] SwitchValues before(uint32_t ifindex) const;
    /// They are as they were before, or their device is gone.
    void forget(uint32_t ifindex);
    /// The same of these switches alone.
    void forget(uint32_t ifindex, const SwitchValues& those);
    /// All but these.
    void forget_others(const std::vector<uint32_t>& kept);
    [[nodiscard]] std::vector<uint32_t> devices() const;

  private:
    explicit SwitchMemory(std::string path) : path_(std::move(path)) {}
    Result<void> save() const;

    std::string path_;
    RunState state_;
};

}  // namespace pktpit::router
