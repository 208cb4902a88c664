// SPDX-License-Identifier: BSD-3-Clause
/// The Intel 82576 and I350, for GigabitNic: registers and descriptor formats. The packet-path parts are
/// inline; nothing here is believed that the device wrote (RxRing checks).
///
/// Used of the chip (82576 datasheet, revision 2.87): advanced receive descriptors (7.1.5) with header split
/// always into the header buffer (7.1.6; SRRCTL 8.10.2, PSRTYPE 8.10.3), advanced transmit data descriptors
/// (7.2.2.3), queue 0 with its enable bits (RXDCTL, TXDCTL), one MSI with ICR, IMS, IMC (8.8; GPIE 0).
/// Not used: other queues, RSS, pools, MSI-X, offloads.
///
/// "Split always" leaves a frame that fits into the header buffer there, payload and all, so that only
/// frames longer than NicLayout::header_bytes keep their payload out of main memory; of a frame that the chip
/// cannot parse, the first bytes are there. ("Split" alone would leave such a frame, ARP too, where the CPU
/// does not look.) QEMU's model splits since 8.1; that of 8.0 leaves frames in the payload buffer whole:
/// RxFrame::header_length is 0 then. The driver has run on QEMU's 82576, never on hardware of either chip;
/// that the I350 (I350 datasheet, section 8) is the same in all that is used is what its datasheet says.
#pragma once

#include <cstdint>
#include <string_view>

#include "offload/nic/descriptor_memory.h"
#include "offload/nic/gigabit.h"
#include "offload/nic/rx_ring.h"
#include "offload/nic/tx_ring.h"

namespace pktpit::offload {

struct Igb {
    static constexpr std::string_view model = "Intel 82576/I350 (igb)";
    static constexpr uint32_t rx_descriptor_bytes = 16;
    static constexpr uint32_t tx_descriptor_bytes = 16;
    static constexpr uint32_t rx_tail_step = 1;
    static constexpr uint32_t rx_queue = 0xc000;
    static constexpr uint32_t tx_queue = 0xe000;
    static constexpr uint32_t rx_head = rx_queue + 0x10;
    static constexpr uint32_t rx_tail = rx_queue + 0x18;
    static constexpr uint32_t tx_tail = tx_queue + 0x18;
    static constexpr uint32_t interrupt_cause = 0x1500;
    static constexpr uint32_t interrupt_set = 0x1508;
    static constexpr uint32_t interrupt_clear = 0x150c;
    static constexpr uint32_t max_transmit =
        9728;  ///< bytes of one frame (82576 datasheet 1.4, jumbo frames)

    static void write_rx(DescriptorWords words, const RxBuffer& buffer) {
        words.store(0, buffer.payload);
        words.store(1, buffer.header);
    }

    [[nodiscard]] static bool rx_done(DescriptorWords words) { return words.load_first(1) & 1; }

    /// Word 0: header length 30:21, SPH 31. Word 1: status and errors 31:0, bytes in the packet buffer 47:32.
    [[nodiscard]] static RxStatus read_rx(DescriptorWords words, const NicLayout& layout) {
        const uint64_t first = words.load(0);
        const uint64_t second = words.load(1);
        RxStatus status;
        status.last = (second & 2) != 0;
        status.frame_error = (second & gigabit::rx_frame_errors) != 0;
        // Header buffer overflow: the length is the header's, of which the buffer's worth is there.
        const bool overflow = (second & 1U << 23) != 0;
        status.header_length = overflow ? layout.header_bytes : first >> 21 & 0x3ff;
        status.payload_length = second >> 32 & 0xffff;
        status.split = (first & 1U << 31) != 0 && !overflow;
        return status;
    }

    static void write_tx(DescriptorWords words, const TxPiece& piece) {
        constexpr uint64_t data_descriptor = 3U << 20 | 1U << 29;
        constexpr uint64_t end_of_packet = 1U << 24;
        constexpr uint64_t insert_crc = 1U << 25;
        words.store(0, piece.address);
        words.store(1, uint64_t{piece.frame_length} << 46 | piece.length | data_descriptor | insert_crc |
                           (piece.last ? end_of_packet : 0));
    }
    static void ask_report(DescriptorWords words) {
        constexpr uint64_t report_status = 1U << 27;
        words.store(1, words.load(1) | report_status);
    }
    struct TxStatus {
        bool done = false;
        bool error = false;
    };
    /// Status is in bits 35:32 of word 1, of which 35:33 are reserved.
    [[nodiscard]] static TxStatus read_tx(DescriptorWords words) {
        const uint64_t word = words.load_first(1);
        return {(word >> 32 & 1) != 0, (word >> 32 & 0xe) != 0};
    }

    [[nodiscard]] static Result<void> check(const NicLayout& layout);
    /// Everything but the enable bits.
    static void configure(Device& device, const NicLayout& layout, const gigabit::RingPlaces& places);
    /// Errors: the device does not keep what is written, a queue does not come up.
    static Result<void> enable(Device& device, const NicLayout& layout, bool promiscuous);
    static void disable(Device& device);
};

}  // namespace pktpit::offload
