// SPDX-License-Identifier: BSD-3-Clause
#include "router/sflow/datagram.h"

#include <algorithm>

namespace pktpit::router {
namespace {

constexpr uint32_t version = 5;
constexpr uint32_t address_ipv4 = 1, address_ipv6 = 2;
// Enterprise 0; the format in the low 12 bits.
constexpr uint32_t flow_sample = 1, counters_sample = 2;
constexpr uint32_t sampled_header = 1, generic_interface_counters = 1;
constexpr uint32_t header_ethernet = 1;
constexpr uint32_t fcs_bytes = 4;
constexpr uint32_t type_ethernet = 6;  // IANAifType ethernetCsmacd
constexpr uint32_t full_duplex = 1;
constexpr uint32_t admin_up = 1, oper_up = 2;
constexpr uint32_t not_known = 0xffffffff;  // of a counter

constexpr size_t word = 4;
constexpr size_t flow_sample_words = 8;     // of its own, before its records
constexpr size_t sampled_header_words = 4;  // before the bytes
constexpr size_t counter_sample_words = 3;
constexpr size_t interface_counters_bytes = 88;

size_t padded(size_t bytes) {
    return (bytes + word - 1) / word * word;
}

}  // namespace

SflowDatagram::SflowDatagram(const IpAddress& agent, uint32_t sub_agent, uint32_t sequence,
                             uint32_t uptime_ms) {
    bytes_.reserve(most_bytes);
    put(version);
    put(agent.is_v4() ? address_ipv4 : address_ipv6);
    bytes_.insert(bytes_.end(), agent.bytes.begin(), agent.bytes.begin() + agent.size());
    put(sub_agent);
    put(sequence);
    put(uptime_ms);
    count_at_ = bytes_.size();
    put(0);
}

bool SflowDatagram::add(const SflowFlowSample& sample) {
    const auto header = sample.header.first(std::min(sample.header.size(), most_header));
    const size_t record = sampled_header_words * word + padded(header.size());
    const size_t body = flow_sample_words * word + 2 * word + record;
    if (!room_for(2 * word + body)) return false;
    put(flow_sample);
    put(static_cast<uint32_t>(body));
    put(sample.sequence);
    put(sample.source & 0xffffff);  // class 0, an ifindex
    put(sample.rate);
    put(sample.pool);
    put(sample.drops);
    put(sample.input);
    put(sample.output.value);
    put(1);
    put(sampled_header);
    put(static_cast<uint32_t>(record));
    put(header_ethernet);
    put(sample.frame_length + fcs_bytes);
    put(fcs_bytes);  // stripped
    put(static_cast<uint32_t>(header.size()));
    bytes_.insert(bytes_.end(), header.begin(), header.end());
    bytes_.resize(bytes_.size() + padded(header.size()) - header.size());
    count();
    return true;
}

bool SflowDatagram::add(const SflowCounterSample& sample) {
    const size_t body = counter_sample_words * word + 2 * word + interface_counters_bytes;
    if (!room_for(2 * word + body)) return false;
    put(counters_sample);
    put(static_cast<uint32_t>(body));
    put(sample.sequence);
    put(sample.ifindex & 0xffffff);
    put(1);
    put(generic_interface_counters);
    put(static_cast<uint32_t>(interface_counters_bytes));
    put(sample.ifindex);
    put(type_ethernet);
    put64(sample.bits_per_second);
    put(full_duplex);
    put(admin_up | (sample.up ? oper_up : 0));
    put64(sample.in_octets);
    put(static_cast<uint32_t>(sample.in_packets));
    put(not_known);  // multicast, broadcast: counted among the others
    put(not_known);
    put(static_cast<uint32_t>(sample.in_discards));
    put(not_known);  // errors
    put(not_known);  // unknown protocols
    put64(sample.out_octets);
    put(static_cast<uint32_t>(sample.out_packets));
    put(not_known);
    put(not_known);
    put(not_known);  // discards
    put(not_known);  // errors
    put(0);          // not promiscuous
    count();
    return true;
}

void SflowDatagram::put(uint32_t value) {
    for (const int shift : {24, 16, 8, 0})
        bytes_.push_back(static_cast<uint8_t>(value >> shift));
}

void SflowDatagram::put64(uint64_t value) {
    put(static_cast<uint32_t>(value >> 32));
    put(static_cast<uint32_t>(value));
}

void SflowDatagram::set(size_t at, uint32_t value) {
    for (size_t i = 0; i < word; i++)
        bytes_[at + i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

void SflowDatagram::count() {
    set(count_at_, ++samples_);
}

}  // namespace pktpit::router
