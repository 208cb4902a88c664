// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/statistics.h"

#include "offload/nic/gigabit.h"

namespace pktpit::offload::gigabit {
namespace {

struct Counter {
    std::string_view name;
    uint32_t offset;
    bool wide = false;  ///< low half at `offset`, high half after it; reading the high half clears both
};

constexpr std::array<Counter, Statistics::count> counters{{
    {"crc_errors", 0x4000},
    {"alignment_errors", 0x4004},
    {"receive_errors", 0x400c},
    {"missed_packets", 0x4010},
    {"single_collisions", 0x4014},
    {"excessive_collisions", 0x4018},
    {"multiple_collisions", 0x401c},
    {"late_collisions", 0x4020},
    {"collisions", 0x4028},
    {"defers", 0x4030},
    {"transmits_without_carrier_sense", 0x4034},
    {"carrier_extension_errors", 0x403c},
    {"receive_length_errors", 0x4040},
    {"xon_received", 0x4048},
    {"xon_transmitted", 0x404c},
    {"xoff_received", 0x4050},
    {"xoff_transmitted", 0x4054},
    {"flow_control_received_unsupported", 0x4058},
    {"packets_received_64_bytes", 0x405c},
    {"packets_received_65_to_127_bytes", 0x4060},
    {"packets_received_128_to_255_bytes", 0x4064},
    {"packets_received_256_to_511_bytes", 0x4068},
    {"packets_received_512_to_1023_bytes", 0x406c},
    {"packets_received_1024_to_max_bytes", 0x4070},
    {"good_packets_received", 0x4074},
    {"broadcast_packets_received", 0x4078},
    {"multicast_packets_received", 0x407c},
    {"good_packets_transmitted", 0x4080},
    {"good_octets_received", 0x4088, true},
    {"good_octets_transmitted", 0x4090, true},
    {"receive_no_buffers", 0x40a0},
    {"receive_undersize", 0x40a4},
    {"receive_fragments", 0x40a8},
    {"receive_oversize", 0x40ac},
    {"receive_jabber", 0x40b0},
    {"management_packets_received", 0x40b4},
    {"management_packets_dropped", 0x40b8},
    {"management_packets_transmitted", 0x40bc},
    {"total_octets_received", 0x40c0, true},
    {"total_octets_transmitted", 0x40c8, true},
    {"total_packets_received", 0x40d0},
    {"total_packets_transmitted", 0x40d4},
    {"packets_transmitted_64_bytes", 0x40d8},
    {"packets_transmitted_65_to_127_bytes", 0x40dc},
    {"packets_transmitted_128_to_255_bytes", 0x40e0},
    {"packets_transmitted_256_to_511_bytes", 0x40e4},
    {"packets_transmitted_512_to_1023_bytes", 0x40e8},
    {"packets_transmitted_1024_to_max_bytes", 0x40ec},
    {"multicast_packets_transmitted", 0x40f0},
    {"broadcast_packets_transmitted", 0x40f4},
}};

constexpr uint32_t gone = 0xffffffff;

}  // namespace

void Statistics::collect(Device& device) {
    if (device.read(reg::status) == gone) return;
    for (size_t i = 0; i < counters.size(); i++) {
        const Counter& counter = counters[i];
        const uint32_t low = device.read(counter.offset);
        const uint32_t high = counter.wide ? device.read(counter.offset + 4) : 0;
        if (low == gone && (high == gone || !counter.wide)) continue;
        sums_[i] += uint64_t{high} << 32 | low;
    }
}

void Statistics::restart(Device& device) {
    collect(device);
    sums_ = {};
}

std::vector<std::pair<std::string_view, uint64_t>> Statistics::values() const {
    std::vector<std::pair<std::string_view, uint64_t>> all;
    all.reserve(counters.size());
    for (size_t i = 0; i < counters.size(); i++)
        all.emplace_back(counters[i].name, sums_[i]);
    return all;
}

}  // namespace pktpit::offload::gigabit
