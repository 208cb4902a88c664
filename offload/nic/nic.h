// SPDX-License-Identifier: BSD-3-Clause
/// A NIC driven from user space, for P2P: it splits each received frame into a header, which goes to main
/// memory, and a payload, which goes wherever the slot's payload memory is, and gathers the two again to
/// send.
///
/// The chips are in offload/nic/: each is a description (registers, descriptor formats) for one driver. No
/// system calls and no allocation after start(); one thread at a time, the worker that owns the port.
/// Everything that is read from the device is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "offload/dma.h"
#include "offload/slot.h"

namespace pktpit::offload {

/// The device's memory-mapped registers (BAR 0), little-endian, 32 bits wide. Injected, so that a driver is
/// tested against a model of its chip; once a register access, since each of them costs a PCIe transaction
/// anyway.
class Registers {
  public:
    virtual ~Registers() = default;
    [[nodiscard]] virtual uint32_t read(uint32_t offset) = 0;  ///< all ones if the device has gone
    virtual void write(uint32_t offset, uint32_t value) = 0;
};

/// A place for one frame to be received into.
struct RxBuffer {
    Slot slot;
    Iova header = 0;   ///< NicLayout::header_bytes there; an even address
    Iova payload = 0;  ///< NicLayout::payload_bytes there; an even address
};

/// A received frame.
struct RxFrame {
    Slot slot;
    /// Bytes at RxBuffer::header, never above NicLayout::header_bytes, and at least an Ethernet header; or 0:
    /// this NIC did not split and left the whole frame at RxBuffer::payload, where the CPU does not look.
    uint32_t header_length = 0;
    uint32_t payload_length = 0;  ///< bytes at RxBuffer::payload, never above NicLayout::payload_bytes
    bool split = false;  ///< the NIC parsed the header; else the first bytes are there, whatever they are
};

/// A frame to send: header, then payload.
struct TxFrame {
    Slot slot;
    Iova header = 0;
    Iova payload = 0;
    uint32_t header_length = 0;
    uint32_t payload_length = 0;  ///< 0: the header is the whole frame
};

struct NicLayout {
    uint32_t rx_descriptors = 256;  ///< a power of two, 8 to 4,096
    uint32_t tx_descriptors = 512;  ///< a power of two, 8 to 4,096; two a frame that has payload
    uint32_t header_bytes = 128;    ///< a multiple of 128, up to 896
    uint32_t payload_bytes = 2048;  ///< a multiple of 1,024, up to 16,384
    uint32_t max_frame = 1518;      ///< largest frame taken, bytes, VLAN tags included, without FCS
};

struct NicLink {
    bool up = false;
    uint32_t mbit_per_second = 0;
    bool full_duplex = false;
    bool operator==(const NicLink&) const = default;
};

/// What the driver itself counted. Frames given up on never reach receive().
struct NicErrors {
    uint64_t rx_error_frames = 0;    ///< the descriptor says CRC, symbol, sequence, carrier or length error
    uint64_t rx_too_long = 0;        ///< a frame over more than one descriptor: longer than the slot
    uint64_t rx_bad_descriptor = 0;  ///< a length, an index or a state that the device may not write
    uint64_t tx_bad_completion = 0;  ///< completions with an error, or that no device may write
    uint64_t tx_refused = 0;         ///< frames without a header, or longer than the NIC sends
    uint64_t dead_reads = 0;         ///< registers that read as all ones: the device has gone
    uint64_t hardware_split = 0;     ///< frames whose header the NIC split off, with payload
    uint64_t unsplit = 0;            ///< frames with payload that the NIC did not parse
};

class Nic {
  public:
    virtual ~Nic() = default;

    [[nodiscard]] virtual std::string_view model() const = 0;  ///< "Intel 82574L (e1000e)"
    /// Bytes of main memory for the rings of this layout; to be handed to start(), page-aligned.
    [[nodiscard]] virtual size_t ring_bytes(const NicLayout& layout) const = 0;

    /// Full reset; reads the MAC address; interrupts off; link up. Errors: the device does not answer or does
    /// not come back within its time.
    virtual Result<void> reset() = 0;
    [[nodiscard]] virtual MacAddress mac() const = 0;
    /// Sets up rings, header split and MAC filter (unicast to mac(), broadcast, all multicast; everything
    /// with `promiscuous`), and lets the NIC receive and send. After reset() or stop().
    virtual Result<void> start(const NicLayout& layout, DmaBuffer rings, bool promiscuous) = 0;
    /// Receiving and sending end; when it returns the NIC does no DMA any more. Appends to `left` the slots
    /// that were in its rings. False: the device did not come to rest in time and was reset instead; the
    /// owner should take bus mastering from it (PCI command register) before its memory is used again.
    virtual bool stop(std::vector<Slot>& left) = 0;

    /// Hands over buffers to receive into; returns how many were taken (the ring has no room for more).
    virtual size_t fill(std::span<const RxBuffer> buffers) = 0;
    [[nodiscard]] virtual size_t rx_room() const = 0;  ///< buffers that fill() would take now
    /// Takes received frames. Slots of frames that were given up on are in `dropped`, which has room for as
    /// many as `frames`. Returns {frames, dropped}.
    virtual std::pair<size_t, size_t> receive(std::span<RxFrame> frames, std::span<Slot> dropped) = 0;
    /// Hands over frames to send, all with one doorbell; returns how many were taken, the first ones.
    virtual size_t transmit(std::span<const TxFrame> frames) = 0;
    /// Slots of frames that have been sent, or given up on. Returns how many.
    virtual size_t completed(std::span<Slot> slots) = 0;

    [[nodiscard]] virtual NicLink link() = 0;
    /// Whether NIC and driver agree where in the receive ring they are. To be asked now and then (each 100
    /// ms): false once the NIC has been ahead of a buffer that it does not write back at several calls in a
    /// row. It receives nothing any more then, until stop(), reset() and start().
    [[nodiscard]] virtual bool in_step() = 0;
    /// Interrupts on receive, transmit completion and link change, by one MSI; reading the cause clears it.
    /// With interrupts on, one comes at the latest for the next frame after this call.
    virtual void set_interrupts(bool on) = 0;
    virtual void acknowledge_interrupt() = 0;

    [[nodiscard]] virtual const NicErrors& errors() const = 0;
    /// The hardware's own statistics since reset(), by their names in the datasheet in snake_case
    /// ("missed_packets", "crc_errors", …). The device's counters clear on read; they are added up here.
    [[nodiscard]] virtual std::vector<std::pair<std::string_view, uint64_t>> statistics() = 0;
};

/// The driver for a device of these ids, or nothing if there is none. `registers` must outlive it.
std::unique_ptr<Nic> make_nic(uint16_t vendor, uint16_t device, Registers& registers);
/// What make_nic() knows, for messages: "Intel 82574L (8086:10d3)", …
std::vector<std::string_view> supported_nics();

}  // namespace pktpit::offload
