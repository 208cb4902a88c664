// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/igb.h"

#include <chrono>
#include <string>

namespace pktpit::offload {
namespace {

constexpr uint32_t iam = 0x1510;
constexpr uint32_t gpie = 0x1514;
constexpr uint32_t eimc = 0x1528;
constexpr uint32_t eiac = 0x152c;
constexpr uint32_t eiam = 0x1530;
constexpr uint32_t eitr = 0x1680;
constexpr uint32_t rlpml = 0x5004;
constexpr uint32_t psrtype = 0x5480;
constexpr uint32_t vt_ctl = 0x581c;
constexpr uint32_t srrctl = Igb::rx_queue + 0x0c;
constexpr uint32_t rxdctl = Igb::rx_queue + 0x28;
constexpr uint32_t txdctl = Igb::tx_queue + 0x28;

constexpr uint32_t queue_enabled = 1U << 25;
constexpr uint32_t rx_thresholds = 8 | 8 << 8 | 1 << 16;  ///< prefetch, host, write-back: each at once
constexpr uint32_t tx_thresholds = 8 | 1 << 8 | 1 << 16;
constexpr std::chrono::milliseconds queue_limit{10};

constexpr uint32_t split_always = 5U << 25;
/// IPv4 and IPv6, one in the other, alone and with TCP or UDP; NFS headers are payload to a router.
constexpr uint32_t split_types = 0x03fe;
constexpr uint32_t no_nfs = 3U << 6;
constexpr uint32_t interval = 50 << 2;  // of 1 µs: at most 20,000 interrupts a second

}  // namespace

Result<void> Igb::check(const NicLayout& layout) {
    constexpr uint32_t most = 9728 + 4;
    if (layout.max_frame > most)
        return fail("max_frame", std::to_string(layout.max_frame) + " bytes as the largest frame",
                    "up to " + std::to_string(most) + " bytes with this NIC");
    return {};
}

void Igb::configure(Device& device, const NicLayout& layout, const gigabit::RingPlaces& places) {
    constexpr uint32_t crc = 4;
    for (const uint32_t off :
         {gigabit::reg::mrqc, gigabit::reg::rxcsum, vt_ctl, gpie, eiac, eiam, iam, rxdctl, txdctl})
        device.write(off, 0);
    device.write(eimc, 0xffffffff);
    device.write(eitr, interval);
    device.write(gigabit::reg::rfctl, no_nfs);
    device.write(rlpml, layout.max_frame + crc);
    device.write(psrtype, split_types);
    device.write(srrctl, layout.payload_bytes / 1024 | layout.header_bytes / 64 << 8 | split_always);
    gigabit::set_ring(device, rx_queue, places.rx);
    gigabit::set_ring(device, tx_queue, places.tx);
}

Result<void> Igb::enable(Device& device, const NicLayout& layout, bool promiscuous) {
    gigabit::enable_transmit(device);
    const uint32_t wanted = gigabit::rctl_bits(layout, promiscuous) | gigabit::rctl::enable;
    device.write(gigabit::reg::rctl, wanted);
    if (device.read(gigabit::reg::rctl) != wanted)
        return fail("", "the NIC does not keep what is written into RCTL", "a device that answers");
    device.write(rxdctl, rx_thresholds | queue_enabled);
    device.write(txdctl, tx_thresholds | queue_enabled);
    // The tail must not move before the chip says that the queue is on (82576 datasheet 4.5.9).
    for (const uint32_t queue : {rxdctl, txdctl})
        if (!device.wait_until(queue, queue_enabled, queue_enabled, queue_limit))
            return fail("", "a queue of the NIC does not come up", "its enable bit set within 10 ms");
    return {};
}

void Igb::disable(Device& device) {
    for (const uint32_t queue : {rxdctl, txdctl}) {
        device.change(queue, queue_enabled, 0);
        // If it stays on: quiesce() is what counts.
        static_cast<void>(device.wait_until(queue, queue_enabled, 0, queue_limit));
    }
}

}  // namespace pktpit::offload
