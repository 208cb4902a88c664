// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/e1000e.h"

#include <string>

namespace pktpit::offload {
namespace {

constexpr uint32_t itr = 0x00c4;
constexpr uint32_t iam = 0x00e0;
constexpr uint32_t psrctl = 0x2170;
constexpr uint32_t rdtr = 0x2820;
constexpr uint32_t rxdctl = 0x2828;
constexpr uint32_t radv = 0x282c;
constexpr uint32_t second_rx_length = 0x2908;
constexpr uint32_t rsrpd = 0x2c00;
constexpr uint32_t raid = 0x2c08;
constexpr uint32_t tidv = 0x3820;
constexpr uint32_t txdctl = 0x3828;
constexpr uint32_t tadv = 0x382c;
constexpr uint32_t tarc0 = 0x3840;
constexpr uint32_t second_tx_length = 0x3908;

constexpr uint32_t itr_interval = 195;  // of 256 ns: at most 20,000 interrupts a second
constexpr uint32_t count_in_descriptors = 1U << 24;
constexpr uint32_t write_back_each = 1U << 16;
constexpr uint32_t txdctl_must_be_one = 1U << 22;
constexpr uint32_t queue_enabled = 1U << 10;
constexpr uint32_t automatic_masks = 1U << 24 | 1U << 27;  ///< CTRL_EXT.EIAME and IAME

// RFCTL: extended descriptors; no parsing of iSCSI and NFS, whose headers are payload to a router. The two
// bits on IPv6 extension headers keep the chip from parsing malformed ones, which can hang its receiver.
constexpr uint32_t extended_descriptors = 1U << 15;
constexpr uint32_t no_iscsi = 1U << 0;
constexpr uint32_t no_nfs = 3U << 6;
constexpr uint32_t no_ipv6_extensions = 3U << 16;

}  // namespace

Result<void> E1000e::check(const NicLayout& /*layout*/) {
    return {};
}

void E1000e::configure(Device& device, const NicLayout& layout, const gigabit::RingPlaces& places) {
    device.write(gigabit::reg::mrqc, 0);
    device.write(gigabit::reg::rxcsum, 0);
    device.write(gigabit::reg::rfctl, extended_descriptors | no_iscsi | no_nfs | no_ipv6_extensions);
    device.write(psrctl, layout.header_bytes / 128 | layout.payload_bytes / 1024 << 8);
    for (const uint32_t delay : {rdtr, radv, rsrpd, raid, tidv, tadv})
        device.write(delay, 0);
    device.write(itr, itr_interval);
    // Left on by a driver before, reading the cause would turn interrupts off.
    device.change(gigabit::reg::ctrl_ext, automatic_masks, 0);
    device.write(iam, 0);
    device.write(second_rx_length, 0);
    device.write(second_tx_length, 0);
    gigabit::set_ring(device, rx_queue, places.rx);
    gigabit::set_ring(device, tx_queue, places.tx);
    device.write(rxdctl, count_in_descriptors | write_back_each);
    device.write(txdctl, count_in_descriptors | write_back_each | txdctl_must_be_one);
    device.change(tarc0, 0, queue_enabled);
}

Result<void> E1000e::enable(Device& device, const NicLayout& layout, bool promiscuous) {
    gigabit::enable_transmit(device);
    const uint32_t wanted =
        gigabit::rctl_bits(layout, promiscuous) | gigabit::rctl::packet_split | gigabit::rctl::enable;
    device.write(gigabit::reg::rctl, wanted);
    if (device.read(gigabit::reg::rctl) != wanted)
        return fail("", "the NIC does not keep what is written into RCTL", "a device that answers");
    return {};
}

}  // namespace pktpit::offload
