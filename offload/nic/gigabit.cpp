// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/gigabit.h"

#include <chrono>
#include <string>

#include "offload/nic/phy.h"

namespace pktpit::offload::gigabit {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint32_t gone = 0xffffffff;
constexpr milliseconds after_reset{1};         // no access before (82574 datasheet 4.6.1)
constexpr milliseconds reset_limit{100};       // it takes about 1 ms
constexpr milliseconds auto_read_limit{20};    // EEPROM contents in their registers
constexpr milliseconds phy_configuration{25};  // PHY settings from the EEPROM
constexpr milliseconds last_frame{10};         // a frame under way when receive and transmit are turned off
constexpr milliseconds master_limit{100};      // pending PCIe requests

constexpr uint32_t receive_addresses = 16;
constexpr uint32_t multicast_registers = 128;
constexpr uint32_t address_valid = 1U << 31;

}  // namespace

Result<void> reset(Device& device) {
    if (device.read(reg::status) == gone)
        return fail("", "the NIC does not answer: its registers read as all ones", "a device on the bus",
                    "is memory access enabled in its PCI command register?");
    // A reset in the middle of a bus request may hang the bus. If it does not come to rest, reset is all
    // that is left.
    static_cast<void>(quiesce(device));
    device.change(reg::ctrl, 0, ctrl::reset);
    device.wait(after_reset);
    if (!device.wait_until(reg::ctrl, ctrl::reset, 0, reset_limit))
        return fail("", "the NIC did not come back from its reset", "CTRL.RST clear within 100 ms",
                    "reset its slot, or the machine");
    // A board without EEPROM never says so; read_mac() then finds out.
    static_cast<void>(
        device.wait_until(reg::eecd, eecd_auto_read_done, eecd_auto_read_done, auto_read_limit));
    device.wait(phy_configuration);
    return {};
}

Result<MacAddress> read_mac(Device& device) {
    const uint32_t low = device.read(reg::ral);
    const uint32_t high = device.read(reg::rah);
    MacAddress mac;
    for (unsigned i = 0; i < 4; i++)
        mac.bytes[i] = static_cast<uint8_t>(low >> (8 * i));
    for (unsigned i = 0; i < 2; i++)
        mac.bytes[4 + i] = static_cast<uint8_t>(high >> (8 * i));
    if (!(high & address_valid) || mac.is_zero() || mac.is_multicast())
        return fail("", "the NIC's own MAC address is unusable: " + mac.to_string(),
                    "a unicast address from its EEPROM");
    return mac;
}

void bring_link_up(Device& device) {
    // Some models and some drivers leave flow control on: a router drops rather than stops its neighbour.
    device.change(reg::ctrl,
                  ctrl::master_disable | ctrl::invert_los | ctrl::force_speed | ctrl::force_duplex |
                      ctrl::receive_flow_control | ctrl::transmit_flow_control | ctrl::vlan_mode,
                  ctrl::set_link_up | ctrl::full_duplex);
    for (const uint32_t unused :
         {reg::fcal, reg::fcah, reg::fct, reg::fcttv, reg::fcrtl, reg::fcrth, reg::wuc, reg::wufc})
        device.write(unused, 0);
    wake_phy(device);
}

void set_filters(Device& device, const MacAddress& mac) {
    uint32_t low = 0;
    for (unsigned i = 0; i < 4; i++)
        low |= uint32_t{mac.bytes[i]} << (8 * i);
    device.write(reg::ral, low);
    device.write(reg::rah, mac.bytes[4] | uint32_t{mac.bytes[5]} << 8 | address_valid);
    for (uint32_t i = 1; i < receive_addresses; i++) {
        device.write(reg::ral + 8 * i, 0);
        device.write(reg::rah + 8 * i, 0);
    }
    for (uint32_t i = 0; i < multicast_registers; i++)
        device.write(reg::mta + 4 * i, 0);
}

uint32_t rctl_bits(const NicLayout& layout, bool promiscuous) {
    constexpr uint32_t longest_short_packet = 1522;  // with its CRC
    constexpr uint32_t crc = 4;
    return rctl::multicast_promiscuous | rctl::accept_broadcast | rctl::strip_crc |
           (promiscuous ? rctl::unicast_promiscuous : 0) |
           (layout.max_frame + crc > longest_short_packet ? rctl::long_packets : 0);
}

void enable_transmit(Device& device) {
    // IPGT, IPGR1, IPGR2: the datasheet's values for 1000BASE-T.
    device.write(reg::tipg, 8 | 8 << 10 | 6 << 20);
    device.change(reg::tctl, ~tctl::kept_from_reset,
                  tctl::enable | tctl::pad_short_packets | tctl::collision_threshold |
                      tctl::collision_distance | tctl::retransmit_late);
}

void set_ring(Device& device, uint32_t queue, const RingPlace& place) {
    device.write(queue + 0x00, static_cast<uint32_t>(place.address));
    device.write(queue + 0x04, static_cast<uint32_t>(place.address >> 32));
    device.write(queue + 0x08, place.bytes);
    device.write(queue + 0x10, 0);
    device.write(queue + 0x18, 0);
}

bool quiesce(Device& device) {
    device.change(reg::rctl, rctl::enable, 0);
    device.change(reg::tctl, tctl::enable, 0);
    device.wait(last_frame);
    device.change(reg::ctrl, 0, ctrl::master_disable);
    return device.wait_until(reg::status, status::master_enabled, 0, master_limit);
}

NicLink link(Device& device) {
    const uint32_t value = device.read(reg::status);
    if (value == gone || !(value & status::link_up)) return {};
    constexpr uint32_t speeds[] = {10, 100, 1000, 1000};
    return {true, speeds[value >> 6 & 3], (value & status::full_duplex) != 0};
}

}  // namespace pktpit::offload::gigabit
