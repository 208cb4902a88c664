// SPDX-License-Identifier: BSD-3-Clause
/// A dataplane as the daemon sees it: what moves the packets between ports, with the FIB image that it reads
/// and what it counts. `xdp` implements it; `vfio`, `dpdk` and `model` by way of stageless.h. The packets
/// themselves never pass through here, but for those that the daemon has to handle.
///
/// One thread, the daemon's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bpf/abi.h"
#include "config/config.h"
#include "fib/image.h"
#include "fib/reclamation.h"
#include "offload/slot_counts.h"
#include "router/dataplane/aggregation_state.h"
#include "router/filter/filter_memory.h"
#include "router/guard/guard_memory.h"
#include "router/hot/hot_choice.h"
#include "router/loop/latency.h"
#include "router/loop/port_counters.h"
#include "router/routing/route_counters.h"

namespace pktpit::router {

/// native, generic: XDP in the driver, in the kernel. user: a driver in user space.
enum class AttachMode : uint8_t { native, generic, user };
std::string_view to_string(AttachMode mode);

/// A NIC that the dataplane itself drives, for people.
struct NicDetails {
    std::string pci;                      ///< "0000:03:00.0"; empty where it is known by another name
    std::string device;                   ///< that name: "net_af_packet,iface=eth0"
    std::string model;                    ///< "Intel 82574L (e1000e)"
    bool direct = false;                  ///< payloads wait in peer memory
    std::string payload;                  ///< where they wait, and why there
    std::vector<std::string> bounced_to;  ///< ports that payloads from here reach only through main memory
    std::vector<std::pair<std::string, uint64_t>> statistics;
};

/// A worker thread, for people.
struct WorkerState {
    unsigned index = 0;
    std::optional<uint16_t> cpu;  ///< that it stays on
    config::Polling polling = config::Polling::adaptive;
    struct Queue {
        uint16_t port = 0;
        uint32_t queue = 0;
        bool zero_copy = false;
    };
    std::vector<Queue> queues;    ///< that it receives from
    uint32_t stood_in = 0;        ///< of these queues, whose port stage decides since the worker stands still
    pp_port_counters counters{};  ///< of all ports together
    std::optional<offload::SlotCounts> slots;
};

/// How often a split port's stage has stood in for its workers (/heartbeat of the configuration).
struct StandIn {
    bool now = false;
    uint64_t times = 0;    ///< that a queue's worker stood still
    uint64_t packets = 0;  ///< that came meanwhile
};

/// What only dataplanes have whose ports decide about packets themselves: port stages with tables of their
/// own, which go on without the daemon. `xdp`.
class PortStages {
  public:
    virtual ~PortStages() = default;

    /// The table (of image_memory()) with what a split port's own stage has to know: the host's addresses.
    virtual void set_port_table(fib::TableId table) = 0;
    /// The table (of image_memory()) with the routes that an auto port's own stage holds.
    virtual void set_hot_table(fib::TableId table) = 0;

    /// Port ids of an earlier daemon by ifindex: the same device keeps its id, since counters are kept by id.
    [[nodiscard]] virtual const std::map<uint32_t, uint16_t>& previous_ports() const = 0;
    /// To be called when all configured ports are attached: what an earlier daemon has left on others goes.
    /// The devices (ifindex) of those are returned.
    virtual Result<std::vector<uint32_t>> commit() = 0;
    /// Until commit(): every device that an earlier daemon's data path was taken over on has it back, at
    /// once.
    virtual void give_back_all() = 0;
    /// From now on the destructor ends the data path, which else goes on without the daemon.
    virtual void take_down() = 0;

    /// Tells `choice` where packets of auto ports went since the last call.
    virtual void collect_traffic(HotChoice& choice) = 0;
    /// While set, packets to a destination that has some with the control loop follow them.
    virtual void guard_order(bool guard) = 0;
    [[nodiscard]] virtual uint64_t malformed_punts() const = 0;

    /// When they go on without a worker, or without the daemon. Errors: a port's program could not be
    /// exchanged; all goes on as before.
    virtual Result<void> set_heartbeat(const config::Heartbeat& wanted) = 0;
    /// Are there interfaces whose packets have tables of their own (FibImage::set_interface())? To be said
    /// before there are, and after there are no more: programs that do not look there are exchanged for those
    /// that do, or back. Errors: a port's program could not be exchanged; all goes on as before.
    virtual Result<void> set_vrfs(bool any) = 0;
    /// These groups of workers, whose vectors port stages add, and no others; those that are as they were go
    /// on. Errors: no room, a UDP port that is somebody else's, a port's program could not be exchanged; all
    /// goes on as before.
    virtual Result<void> set_aggregation(const config::AggregationGroups& wanted) = 0;
    [[nodiscard]] virtual std::vector<AggregationState> aggregation() const = 0;
    /// Of a split or auto port.
    [[nodiscard]] virtual StandIn stand_in(uint16_t port) const = 0;
};

/// What only dataplanes have that drive NICs themselves, and make the Linux device that stands for each port.
class OwnDevices {
  public:
    virtual ~OwnDevices() = default;

    /// Nothing happens if it is there already.
    virtual Result<void> create_device(const config::Interface& port) = 0;
    virtual void destroy_device(const std::string& name) = 0;
    [[nodiscard]] virtual std::optional<NicDetails> nic(uint16_t port) = 0;
    /// From now on the destructor ends the data path, where it could go on without the daemon.
    virtual void take_down() {}
};

class Dataplane {
  public:
    /// A whole frame and why it was punted, or a copy of one. The frame may be changed in place; it is gone
    /// after the call.
    using PuntHandler = std::function<void(const pp_punt& punt, std::span<uint8_t> frame)>;

    struct Attachment {
        AttachMode mode = AttachMode::native;
        bool adopted = false;     ///< what an earlier daemon left was taken over
        std::string why_generic;  ///< what the kernel said when it refused native mode
        bool through_dispatcher = false;
        std::string why_no_dispatcher;  ///< it was asked for, but the port is on a plain link
        std::string warning;            ///< of frames that the port may take for others; empty: none
    };

    virtual ~Dataplane() = default;

    /// Memory of the image, to be formatted and filled by fib::FibImage, and when its parts may be reused.
    [[nodiscard]] virtual std::span<std::byte> image_memory() const = 0;
    [[nodiscard]] virtual const pp_fib_geometry& geometry() const = 0;
    [[nodiscard]] virtual fib::Reclamation reclamation() = 0;

    /// Null where ports have none.
    [[nodiscard]] virtual PortStages* port_stages() { return nullptr; }
    /// Null where ports are Linux devices that are there already.
    [[nodiscard]] virtual OwnDevices* own_devices() { return nullptr; }

    /// To be called for every port before the first is attached: from then on a packet may leave by it.
    virtual Result<void> prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) = 0;
    /// Begins forwarding on a device (prepare() is done if it was not).
    virtual Result<Attachment> attach(uint16_t port, uint32_t ifindex, const config::Interface& settings) = 0;
    /// Ends forwarding on the port, and undoes prepare(); also when its device has gone. Nothing happens if
    /// neither was done.
    virtual void detach(uint16_t port) = 0;

    /// Why frames from other ports' programs cannot be redirected to the port's device, and what to do about
    /// it; empty: they can be. Of a prepared port, too: before a frame can leave by it.
    [[nodiscard]] virtual std::string why_not_redirected(uint16_t) { return {}; }
    /// How they leave by it: "redirect", "stack" (the kernel's, with or without a daemon) or "daemon".
    [[nodiscard]] virtual std::string_view sent_by(uint16_t) const { return "redirect"; }
    /// What somebody else has made of the port's program; empty: it is there.
    [[nodiscard]] virtual std::string why_detached(uint16_t) const { return {}; }
    /// Says as a text, on any thread, which programs the ports' devices have: another text, and
    /// why_detached() is worth asking, which waits for the kernel's networking lock.
    [[nodiscard]] virtual std::function<std::string()> program_look() const {
        return [] { return std::string(); };
    }

    /// "inline", "split" or "auto": who decides about a port's packets.
    [[nodiscard]] virtual std::string_view forwarding(uint16_t port) const = 0;
    /// Packets of the port by who has decided: its own stage, or the control loop. Those for the host apart.
    struct Decided {
        uint64_t by_stage = 0;
        uint64_t by_loop = 0;
    };
    [[nodiscard]] virtual Decided decided(uint16_t port) const = 0;

    [[nodiscard]] virtual pp_port_counters counters(uint16_t port) const = 0;
    virtual void reset_counters(uint16_t port) = 0;
    /// Of packets that came in by the port and that a worker has sent on: from the port to the doorbell.
    [[nodiscard]] virtual LatencyCounts latency(uint16_t port) const = 0;
    [[nodiscard]] virtual RouteCounterStore& route_counters() = 0;

    /// From now on packets meet these filters, all at once; on `xdp`, where programs have to be exchanged, a
    /// port after the other. Errors: no memory, or a program could not be exchanged; all goes on as before.
    virtual Result<void> set_filters(const FilterSet& set) = 0;
    /// From now on sources are checked, and rates kept to, as it says. Errors: a program could not be
    /// exchanged; all goes on as before.
    virtual Result<void> set_guards(const GuardSet& set) = 0;
    /// What the counters `first` to `first + count - 1` have counted since the dataplane was opened.
    [[nodiscard]] virtual std::vector<pp_filter_counters> filter_counters(uint32_t first,
                                                                          uint32_t count) const = 0;

    /// What of its hardware is simulated, for people; empty: nothing is.
    [[nodiscard]] virtual std::string modelled() const { return {}; }

    /// Of each port, hand on a copy of the next packet that leaves by the interface that it came in by: as a
    /// punt with `copy`. The packet itself is forwarded. Called now and then, whether one has come or not.
    virtual void copy_returning() {}

    /// None while no port needs one.
    [[nodiscard]] virtual std::vector<WorkerState> workers() = 0;
    /// Has packets written down from now on, as `wanted` says (called again: it changes), or no more. poll()
    /// hands on the records (struct pp_observation and the frame, not checked), which are gone after the
    /// call. An Error leaves everything unobserved.
    using ObservationHandler = std::function<void(std::span<const uint8_t> record)>;
    virtual Result<void> observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) = 0;
    /// Records of packets that came in by the port which found no room on their way here, since observe()
    /// began.
    [[nodiscard]] virtual uint64_t lost_observations(uint16_t port) const = 0;

    /// Readable when poll() has something to do.
    [[nodiscard]] virtual int descriptor() const = 0;
    virtual void poll() = 0;
    /// Every 100 ms.
    virtual void tick() = 0;
    /// Sends a whole frame, gathered from its parts. False: it could not be sent.
    virtual bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) = 0;
};

}  // namespace pktpit::router
