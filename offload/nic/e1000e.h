// SPDX-License-Identifier: BSD-3-Clause
/// The Intel 82574L, for GigabitNic: registers and descriptor formats. The packet-path parts are inline;
/// nothing here is believed that the device wrote (RxRing checks).
///
/// Used of the chip (82574 datasheet, revision 3.4): packet split (7.1.10; RCTL.DTYP, PSRCTL 10.2.5.2,
/// RFCTL.EXSTEN 10.2.5.17) with 32-byte receive descriptors (7.1.5), whose head and tail count 16-byte units
/// (10.2.5.6, 10.2.5.7); legacy transmit descriptors (7.2.9); one MSI with ICR, IMS, IMC (10.2.4); ITR.
/// Not used: the second queue, RSS, MSI-X, checksum offload, VLAN stripping, flow control.
///
/// Seen with QEMU's model of it: a software reset leaves most registers as they are, so that configure()
/// writes every register that matters; ICR does not clear on read; with long packets on, a frame longer than
/// a descriptor's buffers ends the emulator itself (QEMU 7.2), where hardware goes on in the next descriptor.
#pragma once

#include <cstdint>
#include <string_view>

#include "offload/nic/descriptor_memory.h"
#include "offload/nic/gigabit.h"
#include "offload/nic/rx_ring.h"
#include "offload/nic/tx_ring.h"

namespace pktpit::offload {

struct E1000e {
    static constexpr std::string_view model = "Intel 82574L (e1000e)";
    static constexpr uint32_t rx_descriptor_bytes = 32;
    static constexpr uint32_t tx_descriptor_bytes = 16;
    static constexpr uint32_t rx_tail_step = 2;
    static constexpr uint32_t rx_queue = 0x2800;
    static constexpr uint32_t tx_queue = 0x3800;
    static constexpr uint32_t rx_head = rx_queue + 0x10;
    static constexpr uint32_t rx_tail = rx_queue + 0x18;
    static constexpr uint32_t tx_tail = tx_queue + 0x18;
    static constexpr uint32_t interrupt_cause = 0x00c0;
    static constexpr uint32_t interrupt_set = 0x00d0;
    static constexpr uint32_t interrupt_clear = 0x00d8;
    static constexpr uint32_t max_transmit = 16288;  ///< bytes of one frame (datasheet 7.2.1)

    /// Buffer 0 the header, buffer 1 the payload. Buffers 2 and 3 have no size (PSRCTL); the datasheet wants
    /// all ones there.
    static void write_rx(DescriptorWords words, const RxBuffer& buffer) {
        words.store(0, buffer.header);
        words.store(1, buffer.payload);
        words.store(2, ~uint64_t{0});
        words.store(3, ~uint64_t{0});
    }

    [[nodiscard]] static bool rx_done(DescriptorWords words) { return words.load_first(1) & 1; }

    /// Word 1: status and errors 31:0, bytes in buffer 0 47:32, VLAN tag. Word 2: header length 9:0, HDRSP
    /// 15, bytes in buffers 1, 2 and 3.
    [[nodiscard]] static RxStatus read_rx(DescriptorWords words, const NicLayout& /*layout*/) {
        const uint64_t first = words.load(1);
        const uint64_t lengths = words.load(2);
        RxStatus status;
        status.last = (first & 2) != 0;
        status.frame_error = (first & gigabit::rx_frame_errors) != 0;
        status.header_length = first >> 32 & 0xffff;
        status.payload_length = lengths >> 16 & 0xffff;
        status.split = (lengths & 0x8000) != 0;
        const uint32_t parsed_header = lengths & 0x3ff;
        // Not split, a frame fills buffer 0 and goes on in buffer 1: its bytes are in order all the same.
        status.malformed = (status.split && status.header_length != parsed_header) || lengths >> 32 != 0;
        return status;
    }

    static void write_tx(DescriptorWords words, const TxPiece& piece) {
        constexpr uint64_t end_of_packet = 1U << 24;
        constexpr uint64_t insert_crc = 1U << 25;
        words.store(0, piece.address);
        words.store(1, piece.length | (piece.last ? end_of_packet | insert_crc : insert_crc));
    }
    static void ask_report(DescriptorWords words) {
        constexpr uint64_t report_status = 1U << 27;
        words.store(1, words.load(1) | report_status);
    }
    struct TxStatus {
        bool done = false;
        bool error = false;
    };
    /// Status is in bits 35:32 of word 1: done, excess collisions, late collision.
    [[nodiscard]] static TxStatus read_tx(DescriptorWords words) {
        const uint64_t word = words.load_first(1);
        return {(word >> 32 & 1) != 0, (word >> 32 & 6) != 0};
    }

    [[nodiscard]] static Result<void> check(const NicLayout& layout);
    /// Everything but the enable bits.
    static void configure(Device& device, const NicLayout& layout, const gigabit::RingPlaces& places);
    /// Errors: the device does not keep what is written.
    static Result<void> enable(Device& device, const NicLayout& layout, bool promiscuous);
    static void disable(Device& /*device*/) {}
};

}  // namespace pktpit::offload
