// SPDX-License-Identifier: BSD-3-Clause
/// Modelled NICs as a control loop sees them (router/loop/packet_io.h): frames of wires come in by modelled
/// ports, header slices cross the modelled fabric to the modelled CPU, answers go back with new headers,
/// payloads go from NIC to NIC, and what leaves the modelled ports goes out by their wires. Virtual time goes
/// on only in receive(), and stands while the control loop decides.
///
/// Not modelled, because they are copied beside the fabric: frames for the host and the slow path, and those
/// that they send.
///
/// The worker's, but for what the daemon calls while the worker is paused.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "bpf/abi.h"
#include "offload/model/wiring.h"
#include "router/loop/latency.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"
#include "router/model/slice_host.h"
#include "router/model/wire.h"

namespace pktpit::router {

class ModelPacketIo : public PortIo, public model::FrameSink, public model::Actor {
  public:
    static constexpr uint32_t largest_mtu = model::largest_frame - 14 - 2 * 4;

    ModelPacketIo(const model::Topology& topology, const model::Profile& profile, model::Transfer transfer,
                  WorkerCounters& counters);

    /// A port of a modelled NIC, by its place among all of them.
    struct NicPort {
        unsigned nic = 0, port = 0;
        double gbps = 0;
        std::string name;  ///< "nic0/1"
    };
    [[nodiscard]] const std::vector<NicPort>& nic_ports() const { return nic_ports_; }

    // The daemon's, while the worker is paused.
    /// `wire` stays the caller's, until remove().
    void add(size_t nic_port, uint16_t id, Wire& wire);
    void remove(uint16_t id);
    /// Frames of files come in from now on.
    void play();
    [[nodiscard]] bool playing() const { return playing_; }
    [[nodiscard]] std::vector<std::pair<std::string, uint64_t>> statistics(size_t nic_port);

    /// Virtual time of packets that came in by the port and were forwarded: from their last bit in to the
    /// doorbell of their burst.
    [[nodiscard]] LatencyCounts latency(uint16_t id) const { return latencies_[id].read(); }
    void reset_latency(uint16_t id) { latencies_[id].reset(); }
    /// Readable when a wire has something. It is never to be read.
    [[nodiscard]] int sleep_descriptor() const { return epoll_.get(); }

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override {}
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;

    bool send(uint16_t port, std::span<const uint8_t> frame) override;
    void arm() override;
    void disarm() override;
    void look() override {}

    void frame_sent(unsigned nic, unsigned port, std::span<const std::byte> frame, uint64_t packet) override;
    void on_event(uint32_t what, uint64_t argument) override;

  private:
    struct Waiting {
        std::array<std::byte, model::slot_bytes> bytes;
        uint32_t length = 0;
        uint32_t generation = 0;
        std::optional<uint64_t> at;
    };
    /// A port in use.
    struct Port {
        uint16_t id = 0;  ///< 0: not in use
        Wire* wire = nullptr;
        uint32_t generation = 0;  ///< events of an earlier use are told by it
        model::Time free_at = 0;  ///< when the next frame's first bit can come in
        model::Ring<std::unique_ptr<Waiting>> waiting;
        std::vector<std::unique_ptr<Waiting>> unused;
        uint64_t wire_to_wire = 0, measured = 0;  ///< ns, frames that came in here
        uint64_t refused_by_wire = 0, own_frames_kept = 0;
    };
    /// A slice's header cell, and what became of it.
    struct Cell {
        std::array<uint8_t, offload::header_headroom + PP_SLICE_BYTES> bytes;
        uint16_t length = 0;
        uint16_t port = 0;
    };
    struct Arrival {
        model::Time at = 0;
        uint16_t port = 0;  ///< by place
    };

    void feed(size_t place);
    bool take_from_wire(Port& port);
    [[nodiscard]] bool has_room(size_t place) const;
    void schedule(size_t place, Waiting& frame);
    void come_in(size_t place);
    size_t hand_over_burst(std::span<offload::HeaderSlice> slices);
    void drop(size_t cell, uint16_t port, pp_verdict verdict);
    [[nodiscard]] uint64_t capture_time() const;
    [[nodiscard]] size_t place_of(unsigned nic, unsigned port) const { return first_port_[nic] + port; }
    [[nodiscard]] Arrival& arrival(uint64_t packet) { return arrivals_[packet & (arrivals_.size() - 1)]; }

    WorkerCounters& counters_;
    model::Machine machine_;
    model::Nics nics_;
    std::vector<model::PktpitFirmware*> firmwares_;  ///< the NICs'
    std::unique_ptr<SliceHost> host_;
    std::vector<NicPort> nic_ports_;
    std::vector<size_t> first_port_;              ///< of each NIC
    std::vector<Port> ports_;                     ///< by place
    std::array<uint16_t, PP_MAX_PORTS> by_id_{};  ///< 1 + place
    std::array<Cell, SliceHost::most_slices> cells_;
    std::vector<Arrival> arrivals_;  ///< by packet number
    std::vector<LatencyHistogram> latencies_;
    uint64_t packets_ = 0;
    bool playing_ = false;
    uint64_t first_capture_ = 0;  ///< ns: the earliest frame of all files
    model::Time play_begin_ = 0;
    Fd epoll_;
    Fd more_;  ///< eventfd: events are left
};

}  // namespace pktpit::router
