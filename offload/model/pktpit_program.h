// SPDX-License-Identifier: BSD-3-Clause
/// Pktpit: the frame stays in the ingress NIC; a descriptor with its destination, or with the header slice,
/// goes to a ring in main memory; the CPU looks it up and answers in a ring of egress descriptors, with one
/// doorbell a burst; then the frame goes from NIC to NIC (peer_firmware.h). NIC's part and CPU's part. One
/// thread.
#pragma once

#include "offload/model/host.h"
#include "offload/model/peer_firmware.h"

namespace pktpit::model {

/// What the CPU gets of a frame, in front of the slice.
struct SliceDescriptor {
    uint32_t slot = 0;
    uint16_t length = 0;
    uint8_t port = 0;
    uint8_t valid = 0;
    uint32_t packet = 0;
    std::array<uint8_t, 4> destination{};  ///< of IPv4
};
static_assert(sizeof(SliceDescriptor) == 16);

/// The CPU's answer, with the new header behind it if settings say so.
struct EgressAnswer {
    uint32_t slot = 0;
    uint16_t nic = 0;
    uint8_t port = 0;
    uint8_t forward = 0;
    uint32_t packet = 0;
    uint8_t header_length = 0;  ///< of the new header; 0: the frame goes as it is
    uint8_t replaced = 0;       ///< bytes of the frame that it takes the place of
    uint16_t length = 0;        ///< of the frame then: it may lose its end
};
static_assert(sizeof(EgressAnswer) == HostRings::descriptor_bytes);

struct PktpitSettings {
    unsigned slice = 0;  ///< bytes of the frame that go to the CPU; 0: the destination address alone
    Time ingress_time = 0;
    Time answer_time = 0;           ///< firmware, for an answer
    unsigned fetch = 16;            ///< answers read at once, at most
    unsigned header_room = 0;       ///< bytes of a new header behind each answer, at most
    unsigned descriptor_batch = 1;  ///< without a slice: descriptors in one write, where they wait anyway
    Decider* own = nullptr;         ///< a FIB on the NIC, asked first; null: the CPU decides all
    Time lookup_time = 0;           ///< firmware, for parsing and looking up there
    [[nodiscard]] uint32_t stride() const {
        return (static_cast<uint32_t>(sizeof(SliceDescriptor)) + slice + 15) & ~15U;
    }
    [[nodiscard]] uint32_t answer_stride() const {
        return (static_cast<uint32_t>(sizeof(EgressAnswer)) + header_room + 15) & ~15U;
    }
};

class PktpitFirmware : public PeerFirmware {
  public:
    /// `rings`: one for each queue.
    PktpitFirmware(Nic& nic, const PeerTransferSettings& transfer, std::vector<uint64_t> bars,
                   const std::vector<HostRings>& rings, const PktpitSettings& settings);

    void frame(uint32_t slot) override;
    void computed(uint32_t what, uint64_t argument) override;
    void written(uint64_t offset, uint32_t length, uint64_t packet) override;
    void dma_done(uint64_t cookie, DmaResult result) override;
    /// A frame of the host's own, which is in a slot of this NIC's, leaves by one of its ports.
    void send_own(uint32_t slot, uint16_t port) {
        send(slot, {true, static_cast<uint16_t>(nic_.index()), port});
    }

  private:
    struct Queue {
        Queue(const HostRings& of, DescriptorWriter writer) : rings(of), slices(std::move(writer)) {}
        HostRings rings;
        DescriptorWriter slices;  ///< of those that are descriptors alone
        Ring<uint32_t> waiting;   ///< slots that the host's ring has no room for
        uint64_t told = 0, room = 0;
        std::vector<std::byte> answers;  ///< a copy of the host's ring
        uint64_t answers_posted = 0, answers_asked = 0, answers_got = 0;
    };
    void look_up(uint32_t slot);
    void ask_host(Queue& queue);
    void fetch_answers(size_t queue, uint64_t packet);
    void answered(Queue& queue, size_t entry);
    [[nodiscard]] EgressAnswer answer_at(const Queue& queue, size_t entry) const;
    void replace_header(const EgressAnswer& answer, const std::byte* header);

    PktpitSettings settings_;
    std::vector<Queue> queues_;
};

class PktpitHost : public HostCpu {
  public:
    PktpitHost(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
               const CpuSettings& settings, Decider& decider, const PktpitSettings& program);
    /// Tells the NICs how much room the rings have.
    void start();

  private:
    size_t ready(size_t ring, size_t most) override;
    size_t misses(size_t ring, size_t count) override;
    void process(size_t ring, size_t count) override;
    [[nodiscard]] Egress decide(size_t nic, const SliceDescriptor& descriptor, uint64_t entry_address);

    Decider& decider_;
    PktpitSettings program_;
    std::vector<uint64_t> taken_;  ///< by ring: as many answers as slices
};

}  // namespace pktpit::model
