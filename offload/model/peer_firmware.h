// SPDX-License-Identifier: BSD-3-Clause
/// NIC-to-NIC transfer, which all peer-to-peer programs share: the ingress NIC writes the frame into the
/// egress NIC's landing area (write), or tells it where to read it (read), or leaves it in main memory
/// (bounce); a descriptor follows; credits for the egress NIC's ring come back in batches. Each NIC plays
/// both parts.
///
/// write: posted, and the descriptor is ordered behind the frame. read: the frame stays in the ingress NIC's
/// slot until the credit comes. bounce: nothing orders a write to main memory before a write to a peer, so a
/// read of one double word pushes the frame first, and the descriptor goes when it has been answered; one
/// such read is outstanding, and serves all frames that were written before it.
#pragma once

#include <functional>

#include "offload/model/descriptor_writer.h"

namespace pktpit::model {

enum class Transfer : uint8_t { write, read, bounce };
std::string_view to_string(Transfer transfer);

struct PeerTransferSettings {
    Transfer transfer = Transfer::write;
    Time egress_time = 0;           ///< firmware, for a descriptor that has come in
    uint64_t bounce_buffers = 0;    ///< main memory: window × nics slots for each NIC
    bool relaxed_payload = false;   ///< frames are written with relaxed ordering
    unsigned descriptor_batch = 1;  ///< descriptors in one write, where they wait for the link anyway
};

class PeerFirmware : public Firmware {
  public:
    /// `bars`: of all NICs, by index.
    PeerFirmware(Nic& nic, const PeerTransferSettings& settings, std::vector<uint64_t> bars);

    void computed(uint32_t what, uint64_t argument) override;
    void written(uint64_t offset, uint32_t length, uint64_t packet) override;
    void dma_done(uint64_t cookie, DmaResult result) override;
    void transmitted(uint64_t cookie) override;

  protected:
    static constexpr uint32_t first_own_event = 16;  ///< of derived programs' compute()
    static constexpr uint64_t kind_shift = 56;
    static constexpr uint64_t first_own_cookie = uint64_t{16} << kind_shift;

    /// The slot goes to another NIC's port, or to one of this NIC.
    void send(uint32_t slot, Egress egress);
    /// A slot's frame is to be written elsewhere by DMA with this cookie: the slot is free when it has been.
    [[nodiscard]] static uint64_t written_cookie(uint32_t slot);
    /// A landing slot's frame goes out; its entry is given back when it has.
    void transmit_landing(unsigned from, uint32_t entry, unsigned port, uint32_t length, uint64_t packet,
                          uint32_t headroom = 0);
    void free_entry(unsigned from, uint32_t entry);
    [[nodiscard]] const std::vector<uint64_t>& bars() const { return bars_; }
    Nic& nic_;

  private:
    struct Descriptor {
        uint64_t where = 0;
        uint16_t length = 0;
        uint8_t port = 0;
        uint8_t valid = 0;
        uint32_t packet = 0;
    };
    struct Outgoing {  ///< towards one egress NIC
        uint64_t sent = 0, returned = 0;
        Ring<std::pair<uint32_t, Egress>> waiting;
        std::vector<uint32_t> slots;  ///< by ring entry: held until it is returned
    };
    struct Incoming {  ///< from one ingress NIC
        uint64_t freed = 0, told = 0;
        uint64_t next_sent = 0;        ///< reads end in any order, frames leave in the ring's
        std::vector<uint64_t> filled;  ///< by ring entry: slot that has been read into, plus one
        std::vector<bool> done;        ///< by ring entry
    };

    /// A descriptor that is to be written into another NIC's ring.
    struct Announcement {
        uint16_t nic = 0;
        uint32_t entry = 0;
        Descriptor descriptor;
    };
    void push(uint32_t slot, Egress egress);
    void announce(const Announcement& announcement);
    void push_frames();
    void descriptor_in(unsigned from, uint32_t entry);
    void fetch(unsigned from, uint32_t entry);
    void fetch_waiting();
    void send_filled(unsigned from);
    void credit_in(unsigned from);
    [[nodiscard]] Descriptor read_descriptor(unsigned from, uint32_t entry);

    PeerTransferSettings settings_;
    std::vector<uint64_t> bars_;
    std::vector<Outgoing> outgoing_;
    std::vector<DescriptorWriter> rings_;  ///< by egress NIC: ours there
    std::vector<Incoming> incoming_;
    std::vector<Announcement> held_;     ///< bounce, by slot: until the frame is on its way
    Ring<Announcement> unpushed_;        ///< bounce: until the frame is in main memory
    size_t pushing_ = 0;                 ///< how many of them the outstanding read serves
    std::array<std::byte, 4> pushed_{};  ///< what it reads: nobody looks at it
    Ring<uint64_t> waiting_fetches_;     ///< from and entry: no slot free to read into
};

}  // namespace pktpit::model
