// SPDX-License-Identifier: BSD-3-Clause
/// What comes in at modelled ports and what is seen at the other end: UDP frames, numbered and stamped with
/// their time, whose every byte the receiver looks at. One thread.
#pragma once

#include <random>

#include "offload/model/nic.h"
#include "offload/model/recording.h"
#include "offload/model/route_table.h"

namespace pktpit::model {

/// A stream from one port to another.
struct Flow {
    unsigned from_nic = 0, from_port = 0;
    unsigned to_nic = 0, to_port = 0;
    double load = 1;  ///< of the ingress port's line rate
};

struct TrafficSettings {
    std::vector<Flow> flows;
    uint32_t size = 64;    ///< bytes from Ethernet header to FCS; 0: IMIX (7 × 64, 4 × 576, 1 × 1518)
    bool poisson = false;  ///< else evenly spaced
    /// Frames that come back to back, at line rate; then a gap that makes up for it.
    unsigned burst = 1;
    /// Each flow has its frames instead, at their times, over and over; not with a size, load or burst.
    std::shared_ptr<const Recording> recording;
    double recording_speed = 1;  ///< times are divided by it
    uint64_t seed = 1;
    Time start = 0;
    Time stop = never;
    uint64_t most = ~uint64_t{0};  ///< frames of each flow
    /// Where to, instead of the flows' own ports: next hops behind the `egress` ports. Packets to the same
    /// destination stay in order.
    std::shared_ptr<const Destinations> destinations;
    EgressPorts egress;
    /// UDP source ports that the frames of a flow to a port have: what RSS tells apart. Each stays in order.
    unsigned conversations = 1024;
    bool check_bytes = true;  ///< looks at every byte that comes out; else at number and time
};

/// 10.N.P.x of NIC N's port P: what the frames' destinations are, and what programs look up.
uint32_t address_of_port(unsigned nic, unsigned port);
/// The lookup that goes with it.
class PortDecider : public Decider {
  public:
    Egress decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) override;
};

struct TrafficCounters {
    uint64_t offered = 0, accepted = 0, delivered = 0;
    uint64_t delivered_bytes = 0;
    uint64_t damaged = 0;    ///< bytes are not those that came in, or by the wrong port
    uint64_t doubled = 0;    ///< came out before
    uint64_t reordered = 0;  ///< came out behind a later one of its conversation, or to its destination
};

/// What became of a flow.
struct FlowCounters {
    uint64_t offered = 0, accepted = 0, delivered = 0;
};

/// Flows that share an ingress port wait for each other's frames: there is one wire.
class Traffic : public Actor, public FrameSink {
  public:
    Traffic(Fabric& fabric, std::vector<Nic*> nics, const TrafficSettings& settings);
    void start();
    /// Counters and latencies from now on; what was sent before does not count when it comes out.
    void begin_measurement();

    void on_event(uint32_t what, uint64_t argument) override;
    void frame_sent(unsigned nic, unsigned port, std::span<const std::byte> frame, uint64_t packet) override;

    [[nodiscard]] const TrafficCounters& counters() const { return counters_; }
    /// In the order of the settings' flows.
    [[nodiscard]] std::vector<FlowCounters> flows() const;
    /// Ascending, picoseconds, from the first bit into the ingress port to the last bit out; a sample of
    /// them.
    [[nodiscard]] std::vector<Time> latencies() const;

  private:
    struct Stream {
        Flow flow;
        uint64_t number = 0;         ///< of the next frame
        uint64_t delivered = 0;      ///< highest number seen, plus one
        std::vector<bool> seen;      ///< ring by number
        std::vector<uint64_t> last;  ///< by destination, or conversation: highest number seen, plus one
        Time next = 0;               ///< when the next frame's first bit comes in
        uint32_t size = 0;           ///< of that frame
        double ps_per_byte = 0;
        double carry = 0;   ///< fractions of picoseconds
        double behind = 0;  ///< picoseconds that a burst came too early
        size_t wire = 0;
        FlowCounters counters;
    };
    struct Frame {
        size_t stream = 0;
        Time begin = 0;
    };
    /// Of an ingress port.
    struct Wire {
        unsigned nic = 0, port = 0;
        size_t streams = 0;
        double ps_per_byte = 0;
        Time free_at = 0;
        Ring<Frame> coming;
    };
    uint32_t next_size(const Stream& stream);
    void write_frame(const Stream& stream, size_t index, std::span<std::byte> frame, Time begin);
    void schedule(size_t index);
    void wants_wire(size_t index);
    void came_in(size_t index, Time begin);
    void go_on(Stream& stream);
    [[nodiscard]] size_t conversation(uint64_t number, size_t of) const;
    [[nodiscard]] bool shares_wire(const Stream& stream) const {
        return settings_.recording || wires_[stream.wire].streams > 1;
    }

    Fabric& fabric_;
    std::vector<Nic*> nics_;
    TrafficSettings settings_;
    std::mt19937_64 random_;
    std::vector<Stream> streams_;
    std::vector<Wire> wires_;
    std::vector<std::byte> pattern_;
    TrafficCounters counters_;
    Time measured_from_ = 0;
    uint64_t packets_ = 0;
    std::vector<Time> latencies_;
    size_t next_latency_ = 0;
};

}  // namespace pktpit::model
