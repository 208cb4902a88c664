// SPDX-License-Identifier: BSD-3-Clause
/// The data path that a daemon which is gone has left pinned: what it is, whether it carries packets, and its
/// end. For `pktpit detach`, any one thread. Holds the instance's lock, so that no daemon starts meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "router/dataplane/run_state.h"
#include "router/xdp/pins.h"

namespace pktpit::router {

class LeftBehind {
  public:
    struct Port {
        uint32_t ifindex = 0;
        std::string device;              ///< "eth0"; empty: it is not in this network namespace
        uint32_t program = 0;            ///< id of the port stage that runs there
        bool dispatched = false;         ///< by libxdp's dispatcher
        uint64_t received = 0;           ///< packets, since they were counted first
        SwitchValues switches_before{};  ///< what the end puts back
    };

    /// Errors: nothing is pinned under this name, a daemon runs the instance, no privileges, the pins are not
    /// to be trusted.
    static Result<LeftBehind> find(const std::string& instance);

    [[nodiscard]] const std::vector<Port>& ports() const { return ports_; }
    /// Packets that the port stages have sent on, up to now. What hosts say to the router itself is none.
    [[nodiscard]] uint64_t forwarded() const;
    /// It ran in the caller's network namespace, or that is not known.
    [[nodiscard]] bool is_here() const { return here_; }

    /// Takes port stages, pins and the instance's files away and puts switches back. What could not be put
    /// back is returned.
    std::vector<Error> take_down();

  private:
    LeftBehind(std::string instance, Fd lock, PinDirectory pins);
    Result<void> read_ports();
    Result<void> add_link(uint32_t pinned_as, int link);
    void add_dispatched();
    void find_maps(uint32_t program);
    void read_state();

    std::string instance_;
    Fd lock_;
    PinDirectory pins_;
    Fd counters_;  ///< of the programs that run, pinned or not
    Fd image_;
    RunState state_;
    bool here_ = true;
    std::vector<Port> ports_;
};

}  // namespace pktpit::router
