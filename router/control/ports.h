// SPDX-License-Identifier: BSD-3-Clause
/// The configuration's interfaces on the kernel's devices: brings the port stage onto a device, sets what the
/// configuration wants of it, and does so again when the device vanishes and comes back. One thread.
///
/// ports.cpp: which interfaces there are. port_devices.cpp: what the kernel has to do for them, and what it
/// says. port_addresses.cpp: addresses. vlan_interfaces.cpp: the devices of VLANs. port_attachment.cpp: the
/// dataplane on them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "router/control/drift.h"
#include "router/control/event_log.h"
#include "router/control/host_switches.h"
#include "router/control/switch_memory.h"
#include "router/control/transaction.h"
#include "router/control/vlan_devices.h"
#include "router/dataplane/dataplane.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// Why a device cannot be a port.
Error not_ethernet(const LinkEvent& link);
/// An address of the kernel's as routing takes it.
AddressDetails details_of(const AddressEvent& address);

class Ports {
  public:
    struct Port {
        config::Interface config;
        InterfaceId interface = 0;
        PortId port = 0;       ///< of the device that carries it, also for a VLAN
        uint32_t ifindex = 0;  ///< kernel device of this name, 0: there is none now
        std::optional<Dataplane::Attachment> attachment;  ///< ports only
        bool failure_told = false;
        std::string why_not_redirected;   ///< Dataplane::why_not_redirected(), as routing knows it
        std::string told_not_redirected;  ///< what the log says of that
        uint32_t former_ifindex = 0;      ///< of the device that was there last
        SwitchValues switches_found;      ///< of the device, as this daemon took it
        bool role_due = false;            ///< some of its switches were not there yet
        unsigned role_tries = 0;          ///< so often retry() takes the role again where it is due
        SwitchValues switches_noted;      ///< by this taking first; others had been turned before
        std::string why_no_device;        ///< the kernel's refusal to make a VLAN's device, as told
        uint32_t unfit_told = 0;          ///< index of a device of this name that is none of this VLAN
    };

    Ports(Kernel& kernel, const KernelState& state, Routing& routing, Dataplane& dataplane,
          HostSwitches& switches, SwitchMemory memory, EventLog& events, const std::string& instance)
        : kernel_(kernel),
          state_(state),
          routing_(routing),
          dataplane_(dataplane),
          switches_(switches),
          memory_(std::move(memory)),
          events_(events),
          vlans_(kernel, state, switches, instance) {}
    ~Ports();
    Ports(const Ports&) = delete;
    Ports& operator=(const Ports&) = delete;
    /// The data path ends with the daemon: devices become again what they were. Else they keep their role.
    void take_down() { take_down_ = true; }
    /// Devices that are no ports any more, and that an earlier daemon did not get to giving back.
    Result<void> give_former_roles_back();

    /// Makes the interface known to routing, with the link, addresses and neighbours that the kernel has for
    /// it. Parents before their VLANs. Not yet attached: nothing is forwarded.
    Result<void> add(const config::Interface& wanted, Transaction& transaction);
    /// Takes over what changed of an interface that stays a port, or stays the same VLAN.
    Result<void> change(const config::Interface& wanted, Transaction& transaction);
    /// Ends forwarding and forgets the interface, which may be added again elsewhere in the same transaction:
    /// it keeps its ids then, and with them its routes. VLANs before the port that carries them.
    void take_off(const std::string& name, Transaction& transaction);
    /// Brings the port stage onto every port that has none yet.
    /// `go_on` is asked before each.
    Result<void> attach_all(Transaction& transaction, const std::function<Result<void>()>& go_on);
    /// Ends forwarding and forgets the interface for good, with its kernel addresses of ours. The Error says
    /// what of it is left.
    Result<void> remove(const std::string& name);

    // vlan_interfaces.cpp
    /// Looks at the devices that VLAN interfaces are to have, when their ports are there and before they are
    /// added. Error: a device of the name that is somebody else's, and something else. Of ours it is removed.
    Result<void> prepare_vlan_devices(const config::Config& wanted, Transaction& transaction);
    /// Removes what VLAN devices of ours no interface needs.
    Result<void> drop_vlan_devices();

    // What the kernel says.
    void link_changed(const LinkEvent& link);
    void link_removed(const LinkEvent& link);
    void learn_prefix_route(InterfaceId interface, const DeviceRoute& route);
    void resynced() { vlans_.forget_asked(); }
    /// Tries again where a device came back and could not be attached.
    void retry();

    // port_drift.cpp
    /// What is not as the configuration wants it, by somebody else's doing: what the kernel has told anyway.
    void find_drift(std::vector<DriftItem>& found);
    /// The same, what it has to be asked for: waits for its networking lock.
    void find_unheard_drift(std::vector<DriftItem>& found);
    /// Says as a text, on any thread while this lives, what find_unheard_drift() looks at: it finds the same
    /// as long as the text is the same.
    [[nodiscard]] std::function<std::string()> unheard_look() const;
    /// Puts that right. A port whose program has gone is detached here, for attach_all().
    void mend(Transaction& transaction);
    /// Every 100 ms: which ports the others' stages can redirect to.
    void follow_reachability();

    [[nodiscard]] const std::map<std::string, Port>& all() const { return ports_; }
    /// Of the ports, without their VLANs.
    [[nodiscard]] std::map<std::string, PortId> names() const;
    [[nodiscard]] const Port* by_interface(InterfaceId id) const;
    /// What the end of the port's role puts back.
    [[nodiscard]] SwitchValues switches_before(const Port& port) const {
        return memory_.before(port.ifindex);
    }

  private:
    static bool is_port(const config::Interface& interface) { return !interface.parent; }

    // ports.cpp
    [[nodiscard]] VrfId vrf_of(const config::Interface& interface) const;
    [[nodiscard]] Result<PortId> choose_port(uint32_t ifindex) const;
    Result<void> find_port(Port& port, Transaction& transaction);
    enum class Was : uint8_t { taken, found };  ///< by the router at all, by this daemon
    Result<void> discard(const std::string& name, bool addresses, Was role);
    Result<void> put_back(const std::string& name);

    // vlan_interfaces.cpp
    [[nodiscard]] const LinkEvent* device_below(const config::Interface& vlan) const;
    [[nodiscard]] Error unfit(const LinkEvent& link, const config::Interface& vlan) const;
    [[nodiscard]] bool fits(Port& vlan, const LinkEvent& link);
    void make_vlan_device(Port& vlan, Transaction* transaction);
    void make_missing_vlan_devices(Transaction& transaction);
    void restore_vlans(const Port& parent);
    Result<void> raise_outer(const Port& vlan, Transaction* transaction);
    void find_vlan_drift(const Port& vlan, std::vector<DriftItem>& found) const;

    // port_attachment.cpp
    void note_stand_ins();
    Result<void> attach(Port& port);
    Result<void> reattach(const std::string& name, const Dataplane::Attachment& before);
    void detach(Port& port);

    void learn_addresses(const Port& port);

    // port_addresses.cpp. `former`: the interface's before this change. Without a transaction nothing is
    // undone.
    Result<void> add_addresses(const Port& port, const std::vector<InterfaceAddress>& addresses,
                               const std::vector<InterfaceAddress>& former, Transaction* transaction);
    Result<void> add_to_kernel(const Port& port, const InterfaceAddress& wanted,
                               const std::vector<InterfaceAddress>& former, Transaction* transaction);
    Result<void> remove_addresses(const Port& port, const std::vector<InterfaceAddress>& unwanted);
    Result<void> add_lost_addresses(const Port& port);

    // port_devices.cpp. Without a transaction nothing is undone.
    Result<void> take_role(Port& port);
    Result<void> give_role_back(Port& port, Was role);
    void keep_shared_switches(uint32_t leaving);
    Result<void> set_switches(const std::string& device, const SwitchValues& values);
    [[nodiscard]] bool are_set(const std::string& device, const SwitchValues& values) const;
    Result<void> set_up(const Port& port, Transaction* transaction);
    [[nodiscard]] bool outgrows_page(const Port& port, const config::Interface& wanted) const;
    void learn(const Port& port);
    void bind(Port& port, const LinkEvent& link);
    void unbind(Port& port, const LinkEvent* renamed);
    void update_link(const Port& port);

    // port_drift.cpp
    void find_switch_drift(const Port& port, std::vector<DriftItem>& found);
    [[nodiscard]] std::string where_to(const Port& port) const;

    Kernel& kernel_;
    const KernelState& state_;
    Routing& routing_;
    Dataplane& dataplane_;
    HostSwitches& switches_;
    std::map<std::string, Port> ports_;
    std::map<std::string, Port> taken_off_;  ///< as they were; until the transaction ends
    SwitchMemory memory_;
    EventLog& events_;
    VlanDevices vlans_;
    std::map<std::string, uint64_t> stood_in_;  ///< times, as told
    bool take_down_ = false;
};

}  // namespace pktpit::router
