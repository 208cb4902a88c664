/// The configuration's interfaces on the kernel's devices: brings the port stage onto a device, sets what the
/// configuration wants of it, and does so again when the device vanishes and comes back. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "router/daemon/transaction.h"
#include "router/dataplane/dataplane.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/routing.h"

namespace pktpit::router {

class Ports {
  public:
    struct Port {
        config::Interface config;
        InterfaceId interface = 0;
        PortId port = 0;       ///< of the device that carries it, also for a VLAN
        uint32_t ifindex = 0;  ///< kernel device of this name, 0: there is none now
        std::optional<Dataplane::Attachment> attachment;  ///< ports only
        bool failure_told = false;
        std::map<std::string, std::string> switches_before;  ///< kernel switches that were turned, by path
        bool vlan_offload_before = false;                    ///< receive VLAN offload was on
    };

    Ports(Kernel& kernel, const KernelState& state, Routing& routing, Dataplane& dataplane)
        : kernel_(kernel), state_(state), routing_(routing), dataplane_(dataplane) {}
    ~Ports();
    /// The data path outlives the daemon: devices keep their role as a router's.
    void leave_running(bool leave) { leave_running_ = leave; }

    /// Makes the interface known to routing, with the link, addresses and neighbours that the kernel has for
    /// it. Parents before their VLANs. Not yet attached: nothing is forwarded. `keep_id`: of the interface of
    /// this name that was just removed, so that its routes stay its routes.
    Result<void> add(const config::Interface& wanted, Transaction& transaction, InterfaceId keep_id = 0);
    /// Takes over what changed of an interface that stays a port, or stays the same VLAN.
    Result<void> change(const config::Interface& wanted, Transaction& transaction);
    /// Brings the port stage onto every port that has none yet.
    Result<void> attach_all(Transaction& transaction);
    /// Ends forwarding and forgets the interface; its kernel addresses of ours are removed with `addresses`.
    void remove(const std::string& name, bool addresses);

    // What the kernel says.
    void link_changed(const LinkEvent& link);
    void link_removed(const LinkEvent& link);
    /// Tries again where a device came back and could not be attached.
    void retry();

    [[nodiscard]] const std::map<std::string, Port>& all() const { return ports_; }
    /// Of the ports, without their VLANs.
    [[nodiscard]] std::map<std::string, PortId> names() const;
    [[nodiscard]] const Port* by_interface(InterfaceId id) const;

  private:
    Result<PortId> choose_port(uint32_t ifindex) const;
    Result<void> attach(Port& port);
    void make_modes_alike();
    static void take_role(Port& port);
    static void give_role_back(Port& port);
    Result<void> set_up(const Port& port, Transaction* transaction);
    Result<void> add_addresses(Port& port, const std::vector<InterfaceAddress>& addresses,
                               Transaction* transaction);
    void bind(Port& port, const LinkEvent& link);
    void unbind(Port& port);
    void update_link(Port& port);

    Kernel& kernel_;
    const KernelState& state_;
    Routing& routing_;
    Dataplane& dataplane_;
    std::map<std::string, Port> ports_;
    bool leave_running_ = false;
};

}  // namespace pktpit::router
