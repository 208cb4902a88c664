// SPDX-License-Identifier: BSD-3-Clause
/// What Intel's gigabit controllers have in common: reset, MAC address, filters, link, coming to rest.
/// Control plane, by the thread that owns the port; all waits end.
///
/// Sources: Intel 82574 GbE Controller Family datasheet (revision 3.4), section 10.2 (registers), 4.6
/// (software reset and initialization), 5.2 (PCIe master disable, through CTRL and STATUS), 7.1 and 7.2
/// (receive and transmit); Intel 82576EB datasheet, section 8 (registers), whose registers named here are at
/// the same offsets.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/result.h"
#include "offload/nic/device.h"
#include "offload/nic/nic.h"

namespace pktpit::offload::gigabit {

namespace reg {
constexpr uint32_t ctrl = 0x0000;
constexpr uint32_t status = 0x0008;
constexpr uint32_t eecd = 0x0010;
constexpr uint32_t ctrl_ext = 0x0018;
constexpr uint32_t mdic = 0x0020;
constexpr uint32_t fcal = 0x0028;
constexpr uint32_t fcah = 0x002c;
constexpr uint32_t fct = 0x0030;
constexpr uint32_t rctl = 0x0100;
constexpr uint32_t fcttv = 0x0170;
constexpr uint32_t tctl = 0x0400;
constexpr uint32_t tipg = 0x0410;
constexpr uint32_t fcrtl = 0x2160;
constexpr uint32_t fcrth = 0x2168;
constexpr uint32_t rxcsum = 0x5000;
constexpr uint32_t rfctl = 0x5008;
constexpr uint32_t mta = 0x5200;  ///< 128 registers
constexpr uint32_t ral = 0x5400;  ///< 16 pairs with rah
constexpr uint32_t rah = 0x5404;
constexpr uint32_t wuc = 0x5800;
constexpr uint32_t wufc = 0x5808;
constexpr uint32_t mrqc = 0x5818;
}  // namespace reg

namespace ctrl {
constexpr uint32_t full_duplex = 1U << 0;
constexpr uint32_t master_disable = 1U << 2;
constexpr uint32_t set_link_up = 1U << 6;
constexpr uint32_t invert_los = 1U << 7;
constexpr uint32_t force_speed = 1U << 11;
constexpr uint32_t force_duplex = 1U << 12;
constexpr uint32_t reset = 1U << 26;
constexpr uint32_t receive_flow_control = 1U << 27;
constexpr uint32_t transmit_flow_control = 1U << 28;
constexpr uint32_t vlan_mode = 1U << 30;
}  // namespace ctrl

namespace status {
constexpr uint32_t full_duplex = 1U << 0;
constexpr uint32_t link_up = 1U << 1;
constexpr uint32_t master_enabled = 1U << 19;
}  // namespace status

constexpr uint32_t eecd_auto_read_done = 1U << 9;
constexpr uint32_t ctrl_ext_driver_loaded = 1U << 28;

namespace rctl {
constexpr uint32_t enable = 1U << 1;
constexpr uint32_t unicast_promiscuous = 1U << 3;
constexpr uint32_t multicast_promiscuous = 1U << 4;
constexpr uint32_t long_packets = 1U << 5;
constexpr uint32_t packet_split = 1U << 10;
constexpr uint32_t accept_broadcast = 1U << 15;
constexpr uint32_t strip_crc = 1U << 26;
}  // namespace rctl

namespace tctl {
constexpr uint32_t enable = 1U << 1;
constexpr uint32_t pad_short_packets = 1U << 3;
constexpr uint32_t collision_threshold = 15U << 4;
constexpr uint32_t collision_distance = 63U << 12;  ///< full duplex
constexpr uint32_t retransmit_late = 1U << 24;
constexpr uint32_t kept_from_reset = 0xfU << 28;  ///< read request arbitration: as the chip wants it
}  // namespace tctl

namespace cause {
constexpr uint32_t transmit_written_back = 1U << 0;
constexpr uint32_t link_change = 1U << 2;
constexpr uint32_t receive_timer = 1U << 7;  ///< 82576: receive descriptor written back
constexpr uint32_t used = transmit_written_back | link_change | receive_timer;
}  // namespace cause

/// Bits 31:24 of a receive descriptor's status and errors that mean a damaged frame: CRC or alignment,
/// symbol, sequence, carrier extension, data error. A wrong IP or TCP checksum is the router's to judge.
constexpr uint32_t rx_frame_errors = 0x97000000;

/// Where a ring is, as the device sees it.
struct RingPlace {
    Iova address = 0;
    uint32_t bytes = 0;
};

struct RingPlaces {
    RingPlace rx;
    RingPlace tx;
};

/// Stops the chip, resets it and lets its EEPROM load. Interrupts must be masked before and after by the
/// caller. Errors: no device, no end of the reset within its time.
Result<void> reset(Device& device);
/// What the EEPROM put into the first receive address. Errors: none there, zero, multicast.
Result<MacAddress> read_mac(Device& device);
/// Bus mastering, link up by autonegotiation, no flow control, no VLAN stripping; wakes a PHY that the
/// driver before powered down.
void bring_link_up(Device& device);
/// Unicast to `mac` alone; multicast is let in by rctl_bits().
void set_filters(Device& device, const MacAddress& mac);
/// RCTL without the descriptor type and without the enable bit.
[[nodiscard]] uint32_t rctl_bits(const NicLayout& layout, bool promiscuous);
/// TCTL and TIPG, enabled: what is sent by full duplex rules, short frames padded to 60 bytes.
void enable_transmit(Device& device);
/// Base, length, head and tail at offsets 0x00, 0x04, 0x08, 0x10 and 0x18 of a queue's registers.
void set_ring(Device& device, uint32_t queue, const RingPlace& place);
/// Receive and transmit off, then PCIe master disable, which the chip answers when no request is pending.
/// False: it did not within its time.
bool quiesce(Device& device);
[[nodiscard]] NicLink link(Device& device);

}  // namespace pktpit::offload::gigabit
