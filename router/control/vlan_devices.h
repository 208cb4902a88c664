// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's devices of VLAN interfaces: which fits an interface, making those that are missing, and
/// removing those that the router has made. An interface with two tags needs two devices: an outer one on the
/// port, of any name, and on that the one with the interface's name. Used by Ports, on the daemon's thread.
///
/// The alias of a device says that the router has made it, and which instance: that outlives a daemon that is
/// killed. What has been asked of the kernel counts here at once; KernelState knows it when it has read the
/// kernel's events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "router/control/host_switches.h"
#include "router/control/transaction.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_state.h"

namespace pktpit::router {

class VlanDevices {
  public:
    VlanDevices(Kernel& kernel, const KernelState& state, HostSwitches& switches, const std::string& instance)
        : kernel_(kernel), state_(state), switches_(switches), alias_("pktpit " + instance) {}

    /// The device of that name, of whatever kind; nothing: there is none, or it has been removed.
    [[nodiscard]] std::optional<LinkEvent> named(const std::string& name) const;
    /// The same without those of whose making the kernel has not told yet.
    [[nodiscard]] const LinkEvent* told(const std::string& name) const;
    [[nodiscard]] bool is_gone(uint32_t ifindex) const { return gone_.contains(ifindex); }
    /// Made by this instance, by this daemon or by an earlier one.
    [[nodiscard]] bool is_ours(const LinkEvent& link) const {
        return link.kind == "vlan" && link.alias == alias_;
    }
    /// Is it what the interface needs on the port with this index?
    [[nodiscard]] bool fits(const LinkEvent& link, const config::Interface& vlan, uint32_t port) const;
    /// The outer device of an interface with two tags: as it is, whoever has made it.
    [[nodiscard]] std::optional<LinkEvent> outer_of(const config::Interface& vlan, uint32_t port) const;
    /// What a device is, for people: "VLAN 100 on eth0 (802.1Q)".
    [[nodiscard]] std::string words_of(const LinkEvent& link) const;

    /// Makes the device of an interface that has none, and the outer one if that is missing: both or none.
    /// Without a transaction nothing is undone. Error: the kernel refuses, or has a device of another name in
    /// its place.
    Result<void> make(const config::Interface& vlan, const LinkEvent& port, Transaction* transaction);
    /// Removes one of ours and those of ours that lie on it; on the way back they are made again, with what
    /// they had.
    Result<void> remove(const LinkEvent& link, Transaction& transaction);
    /// One of ours that is in an interface's way: with its name and fits() not, or in its place by another
    /// name.
    [[nodiscard]] std::optional<LinkEvent> in_the_way(const config::Interface& vlan, uint32_t port) const;
    /// Removes all of ours but these, and but those that somebody else's devices lie on.
    Result<void> remove_others(const std::set<uint32_t>& needed);

    // What the kernel says.
    void link_told(uint32_t ifindex) { made_.erase(ifindex); }
    void link_removed(uint32_t ifindex);
    /// All has been read again, and KernelState knows what was asked for.
    void forget_asked() {
        made_.clear();
        gone_.clear();
    }

  private:
    struct Former;
    Result<void> make_one(const VlanPlace& place, std::vector<std::string>& made);
    Result<void> make_outer(const VlanPlace& place, std::vector<std::string>& made);
    Result<void> make_stack(const config::Interface& vlan, const LinkEvent& port,
                            std::vector<std::string>& made);
    Result<void> make_again(const Former& former);
    Result<void> remove_named(const std::vector<std::string>& names);
    Result<void> remove_one(const LinkEvent& link);
    [[nodiscard]] std::vector<LinkEvent> all() const;
    [[nodiscard]] std::optional<LinkEvent> with_index(uint32_t ifindex) const;
    [[nodiscard]] std::optional<LinkEvent> at(const VlanPlace& place) const;
    [[nodiscard]] std::string outer_name(const config::Interface& vlan, const std::string& port) const;

    Kernel& kernel_;
    const KernelState& state_;
    HostSwitches& switches_;
    std::string alias_;
    std::map<uint32_t, LinkEvent> made_;  ///< of which the kernel has not told yet, by ifindex
    std::set<uint32_t> gone_;             ///< the same of those removed
};

}  // namespace pktpit::router
