// SPDX-License-Identifier: BSD-3-Clause
/// The way of split ports' packets on the `xdp` dataplane: packet memory, sockets, workers. Made when the
/// first port is split; the daemon's thread.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "config/config.h"
#include "offload/memory/slot_returns.h"
#include "router/dataplane/dataplane.h"
#include "router/loop/worker.h"
#include "router/loop/worker_counter_set.h"
#include "router/xdp/retired_slots.h"
#include "router/xdp/socket_io.h"

namespace pktpit::router {

class SplitPath {
  public:
    /// `epochs`, `counters` and `order` outlive this. `counters`: as many as workers. `order`: what the port
    /// stages see. Errors: no memory.
    static Result<std::unique_ptr<SplitPath>> open(const ImageView& image, fib::Epochs& epochs,
                                                   WorkerCounterSet& counters, pp_order& order,
                                                   const config::Workers& workers, int wakeup);
    ~SplitPath();

    /// Sockets by queue, to be put where the port stage finds them. An inline port (`egress_only`) has some,
    /// too, to send what came in by split ports. A port that is there already keeps those it has.
    Result<std::map<uint32_t, int>> add(uint16_t port, uint32_t ifindex, const std::string& device,
                                        bool egress_only);
    void remove(uint16_t port);
    /// Whether a port's driver receives into sockets' memory.
    [[nodiscard]] bool any_zero_copy() const;
    /// Whether what the port receives may lack its TCP or UDP checksum (router/forward/partial_checksum.h).
    void complete_checksums(uint16_t port, bool wanted);
    /// Frames for the slow path.
    void poll(const Dataplane::PuntHandler& on_punt);
    /// Each worker copies one packet that leaves by its ingress interface.
    void copy_returning();
    /// Now and then: slots of sockets that are gone come back.
    void tick();

    /// All workers stand still, for as long as the result lives.
    [[nodiscard]] std::unique_ptr<WorkerPause> pause() { return std::make_unique<WorkerPause>(all()); }
    /// Each worker as `pktpit show workers` tells it.
    [[nodiscard]] std::vector<WorkerState> workers();

    /// All workers write down what becomes of packets, as `wanted` says, or none does any more.
    void observe(const std::optional<pp_observing>& wanted);
    void poll_observations(const Dataplane::ObservationHandler& on_record);
    [[nodiscard]] uint64_t lost_observations(uint16_t port) const;

  private:
    struct Thread {
        Worker::Queues queues;
        std::unique_ptr<SocketIo> io;
        std::unique_ptr<Worker> worker;
    };
    SplitPath(PacketMemory memory, const config::Workers& settings);
    [[nodiscard]] std::vector<Worker*> all() const;
    [[nodiscard]] unsigned least_busy() const;
    uint16_t take_number();
    void hand_over(uint16_t port, const DeviceSockets& sockets, bool receiving);
    void count_numbers();
    [[nodiscard]] bool has(uint32_t ifindex, uint32_t queue) const;

    PacketMemory memory_;
    config::Workers settings_;
    offload::SlotReturns returns_;
    std::map<uint16_t, std::unique_ptr<DeviceSockets>> ports_;
    std::set<uint16_t> numbers_;  ///< of rings, in use
    RetiredSlots retired_;
    std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace pktpit::router
