// SPDX-License-Identifier: BSD-3-Clause
/// What every dataplane gives to a control loop: header slices in, egress descriptors out, batch by batch.
///
/// One object a worker thread; all calls from that thread. Virtual calls are made once a batch, never once a
/// packet. A packet's slot is the control loop's from receive() until it goes back by submit() or release().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "offload/slot.h"
#include "router/forward/plain.h"

namespace pktpit::offload {

/// Bytes in front of HeaderSlice::bytes that may be written: a rewritten header can be longer than the one
/// that came in, by its VLAN tags.
inline constexpr size_t header_headroom = 64;

/// Packets that a control loop takes at once.
inline constexpr size_t default_batch = 64;

/// What a port hands over of one packet.
struct HeaderSlice {
    uint8_t* bytes = nullptr;    ///< the frame from its Ethernet header on, in main memory; may be rewritten
    uint16_t length = 0;         ///< contiguous bytes there, at most 128
    uint16_t port = 0;           ///< port it came in by
    uint32_t frame_length = 0;   ///< whole frame, bytes, without FCS; what is beyond `length` is the payload
    uint8_t reason = 0;          ///< why the port stage sent it (enum pp_verdict); 0: it decided nothing
    uint8_t veto = 0;            ///< verdict instead of forwarding, if it would be forwarded; 0: none
    bool checksum_good = false;  ///< the port has verified the IPv4 header's; false says nothing of it
    Slot slot;
    uint64_t timestamp = 0;  ///< CLOCK_MONOTONIC, nanoseconds, when it was taken from the port
};

/// How a packet is to leave: a header from the slot's cell, then the slot's payload, from its first byte on.
struct EgressDescriptor {
    Slot slot;
    uint16_t port = 0;           ///< egress port
    uint16_t header_length = 0;  ///< bytes
    /// First byte of the header, in the slot's cell: HeaderSlice::bytes moved by at most header_headroom.
    uint8_t* header = nullptr;
    uint32_t payload_length = 0;  ///< bytes
};

/// A packet that submit() could not send, and why (enum pp_verdict).
struct RefusedPacket {
    Slot slot;
    uint8_t verdict = 0;
};

/// A dataplane that holds the packets of a batch itself, and needs neither slice nor descriptor for what is
/// plain (router/forward/plain.h). A doorbell is one batch. A packet's slot is {0, its index in the batch},
/// until the batch has gone back, by submit() or PacketIo::release(); only then is another received.
class BatchIo {
  public:
    /// Takes up to PlainBatch::most packets, of all ports in turn. The runs are valid until the next call.
    virtual std::span<const router::IngressRun> receive(router::PlainBatch& batch) = 0;
    /// Slices of packets of the last batch: of bit i in slices[i].
    virtual void slice(uint64_t which, std::span<HeaderSlice> slices) const = 0;
    /// As PacketIo::submit(), in the order of the batch: `plain` as they lie, `others` as they say.
    virtual void submit(const router::PlainBatch& batch, uint64_t plain,
                        std::span<const EgressDescriptor> others) = 0;

  protected:
    ~BatchIo() = default;
};

class PacketIo {
  public:
    virtual ~PacketIo() = default;

    /// For dataplanes that are one, too: then packets are received and submitted by it. Asked once.
    [[nodiscard]] virtual BatchIo* by_batch() { return nullptr; }

    /// Takes up to slices.size() packets, of all ports in turn. Returns how many.
    virtual size_t receive(std::span<HeaderSlice> slices) = 0;
    /// Packets that submit() takes at most; asked once. Where a doorbell is dear, more than one batch.
    [[nodiscard]] virtual size_t most_per_doorbell() const { return default_batch; }
    /// Hands packets to their egress ports: one doorbell a port and batch. Whatever cannot be sent (ring
    /// full, port gone) is dropped under a named counter of its egress port. All slots have left the caller's
    /// hands.
    virtual void submit(std::span<const EgressDescriptor> descriptors) = 0;
    /// Gives slots back that are not to be sent.
    virtual void release(std::span<const Slot> slots) = 0;
    /// Learns which packets have been sent, gives their slots back, and hands free slots to receive rings.
    virtual void complete() = 0;

    /// Copies the whole frame for the slow path, which needs its bytes in main memory. False: the payload
    /// cannot be read. `frame` has room for slice.frame_length bytes.
    virtual bool copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) = 0;

    /// Bytes from slice.bytes on that lie in main memory in one piece and may be read by whoever observes.
    [[nodiscard]] virtual size_t readable_bytes(const HeaderSlice& slice) const { return slice.length; }
    /// While somebody observes: submit() notes here what it refuses, as far as there is room. Empty: no more.
    void note_refused(std::span<RefusedPacket> room) {
        refused_room_ = room;
        refused_count_ = 0;
    }
    /// What has been noted since the last call.
    [[nodiscard]] std::span<const RefusedPacket> take_refused() {
        return refused_room_.first(std::exchange(refused_count_, 0));
    }

  protected:
    void note_refused(Slot slot, uint8_t verdict) {
        if (refused_count_ < refused_room_.size()) refused_room_[refused_count_++] = {slot, verdict};
    }

  private:
    std::span<RefusedPacket> refused_room_;
    size_t refused_count_ = 0;
};

}  // namespace pktpit::offload
