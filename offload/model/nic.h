// SPDX-License-Identifier: BSD-3-Clause
/// A modelled NIC: ports with a line rate, packet memory behind its BAR, a DMA engine, threads that run a
/// firmware program. What it does with frames is its Firmware's. One thread.
///
/// Its BAR: packet slots of its own; for each other NIC a landing area and a ring, where that one writes
/// payload and descriptors, and a register for returned credits; registers for the host; a doorbell for each
/// other NIC, and room for a peer program for each (offload/peer_ops); a FIB image.
#pragma once

#include <span>

#include "offload/model/fabric.h"
#include "offload/model/firmware.h"
#include "offload/model/ring.h"

namespace pktpit::model {

inline constexpr uint32_t slot_bytes = 2048;
/// In front of a frame in its slot, for what firmware puts there.
inline constexpr uint32_t slot_headroom = 64;
inline constexpr uint32_t largest_frame = 1984;

struct NicSettings {
    std::vector<double> gbps;  ///< line rate of each port
    unsigned frame_overhead =
        20;                 ///< bytes on the wire beside the frame: preamble and gap (and FCS if it has none)
    unsigned slots = 2048;  ///< frames in its own packet memory
    unsigned window = 512;  ///< landing slots for each other NIC; a power of two
    unsigned threads = 1;   ///< that run firmware
    Time receive_latency = 0;    ///< from a frame's last bit to firmware
    Time transmit_latency = 0;   ///< from firmware to the frame's first bit
    unsigned credit_batch = 16;  ///< landing slots given back at once; divides the window
};

/// Where things are in a NIC's BAR; the same in all NICs of an experiment.
struct NicLayout {
    NicLayout() = default;
    /// `fib_bytes`: for a FIB image.
    NicLayout(unsigned nics, unsigned slots, unsigned window, uint64_t fib_bytes = 0);

    uint64_t landing = 0, rings = 0, credits = 0, registers = 0, doorbells = 0, programs = 0, fib = 0,
             bytes = 0;
    unsigned nics = 0, window = 0;
    static constexpr uint32_t descriptor_bytes = 16;
    static constexpr uint32_t program_bytes = 512;  ///< room for one
    static constexpr uint32_t most_queues = 64;     ///< of the host's, each with registers of its own
    static constexpr uint32_t queue_register_bytes = 128;

    [[nodiscard]] uint64_t slot(uint32_t index) const { return uint64_t{index} * slot_bytes; }
    [[nodiscard]] uint64_t landing_slot(unsigned from, uint32_t index) const {
        return landing + (uint64_t{from} * window + index) * slot_bytes;
    }
    [[nodiscard]] uint64_t ring_entry(unsigned from, uint32_t index) const {
        return rings + (uint64_t{from} * window + index) * descriptor_bytes;
    }
    [[nodiscard]] uint64_t credit(unsigned from) const { return credits + uint64_t{from} * 8; }
    [[nodiscard]] uint64_t doorbell(unsigned from) const { return doorbells + uint64_t{from} * 8; }
    [[nodiscard]] uint64_t program(unsigned egress) const {
        return programs + uint64_t{egress} * program_bytes;
    }
};

/// Where frames go to when they have left a port; called at the time of their last bit.
class FrameSink {
  public:
    virtual ~FrameSink() = default;
    virtual void frame_sent(unsigned nic, unsigned port, std::span<const std::byte> frame,
                            uint64_t packet) = 0;
};

struct NicCounters {
    uint64_t received = 0, sent = 0;  ///< frames
    uint64_t no_slot = 0;             ///< dropped on receipt: packet memory full
    uint64_t no_route = 0;            ///< dropped by the program
    uint64_t too_long = 0;
    uint64_t dma_errors = 0;                ///< dropped: a read of theirs failed
    uint64_t fib_hits = 0, fib_misses = 0;  ///< of a FIB on the NIC: decided here, or asked the host
    uint64_t stale_descriptors = 0;         ///< a doorbell told of a descriptor that was not there yet
    Time firmware_time = 0;                 ///< that threads of the firmware were given work for
};

class Nic : public Device, public Actor {
  public:
    Nic(Fabric& fabric, Endpoint& endpoint, unsigned index, const NicSettings& settings,
        const NicLayout& layout);

    void load(std::unique_ptr<Firmware> firmware) { firmware_ = std::move(firmware); }
    void set_sink(FrameSink* sink) { sink_ = sink; }

    /// A frame whose last bit comes in now: its place, or empty if there is none; then received().
    std::span<std::byte> begin_receive(unsigned port, uint32_t length, uint64_t packet);
    void received();

    // For firmware.
    [[nodiscard]] Fabric& fabric() { return fabric_; }
    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] const std::string& name() const { return endpoint_.name(); }
    [[nodiscard]] const NicSettings& settings() const { return settings_; }
    [[nodiscard]] const NicLayout& layout() const { return layout_; }
    [[nodiscard]] uint64_t bar() const { return endpoint_.settings().bar; }
    [[nodiscard]] Endpoint& endpoint() { return endpoint_; }
    [[nodiscard]] Requester& dma() { return endpoint_.dma(); }
    [[nodiscard]] std::byte* memory(uint64_t offset) { return endpoint_.memory().at(offset); }
    [[nodiscard]] NicCounters& counters() { return counters_; }
    static constexpr uint32_t no_slot = ~0U;
    /// no_slot: none is free.
    uint32_t take_slot();
    void free_slot(uint32_t slot);
    [[nodiscard]] size_t slots_in_use() const { return settings_.slots - free_slots_.size(); }
    [[nodiscard]] std::byte* frame_of(uint32_t slot) { return memory(layout_.slot(slot) + slot_headroom); }
    /// The frame as it is now: a rewritten header may be longer or shorter than the one that came in.
    [[nodiscard]] std::byte* start_of(uint32_t slot) { return frame_of(slot) + meta_[slot].shift; }
    /// A thread is busy for `cost`, then firmware's computed(what, argument) is called.
    void compute(Time cost, uint32_t what, uint64_t argument, uint64_t packet, const char* step,
                 Time not_before = 0);
    /// The bytes stay as they are until firmware's transmitted(cookie).
    void transmit(unsigned port, const std::byte* frame, uint32_t length, uint64_t packet, uint64_t cookie);

    void memory_written(uint64_t offset, uint32_t length, uint64_t packet) override;
    void dma_done(uint64_t cookie, DmaResult result) override;
    void on_event(uint32_t what, uint64_t argument) override;

    struct Meta {
        uint32_t length = 0;
        uint32_t port = 0;
        uint64_t packet = 0;
        uint64_t user = 0;  ///< firmware's
        int32_t shift = 0;  ///< where the frame begins in its slot, against where it came in
    };
    [[nodiscard]] Meta& meta(uint32_t slot) { return meta_[slot]; }

  private:
    struct Transmission {
        const std::byte* frame = nullptr;
        uint32_t length = 0;
        uint64_t packet = 0;
        uint64_t cookie = 0;
    };
    struct EthernetPort {
        double ps_per_byte = 0;
        Time free_at = 0;
        Ring<Transmission> sending;
    };

    Fabric& fabric_;
    Endpoint& endpoint_;
    unsigned index_;
    NicSettings settings_;
    NicLayout layout_;
    std::unique_ptr<Firmware> firmware_;
    FrameSink* sink_ = nullptr;
    NicCounters counters_;
    std::vector<EthernetPort> ports_;
    std::vector<uint32_t> free_slots_;
    std::vector<Meta> meta_;
    std::vector<Time> threads_;
    size_t next_thread_ = 0;
    std::array<Time, 32> last_of_kind_{};
    uint32_t receiving_ = no_slot;
};

}  // namespace pktpit::model
