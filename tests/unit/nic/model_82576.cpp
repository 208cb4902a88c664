// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/nic/model_82576.h"

#include <algorithm>

namespace pktpit::offload::test {
namespace {

constexpr uint32_t rctl = 0x0100;
constexpr uint32_t tctl = 0x0400;
constexpr uint32_t psrtype = 0x5480;
constexpr uint32_t srrctl = 0xc00c;
constexpr uint32_t rxdctl = 0xc028;
constexpr uint32_t txdctl = 0xe028;
constexpr uint32_t queue_enabled = 1U << 25;

}  // namespace

bool Model82576::receiver_on() const {
    return (reg(rctl) & 2) && (reg(rxdctl) & queue_enabled);
}
bool Model82576::transmitter_on() const {
    return (reg(tctl) & 2) && (reg(txdctl) & queue_enabled);
}

size_t Model82576::in_header_buffer(size_t bytes, size_t header) const {
    if (does_not_split) return 0;
    if (bytes <= header_bytes()) return bytes;
    return header > 0 ? std::min(header, header_bytes()) : header_bytes();
}

uint32_t Model82576::rx_descriptors_for(size_t bytes, size_t header) const {
    const size_t left = bytes - in_header_buffer(bytes, header);
    return std::max<uint32_t>(1, static_cast<uint32_t>((left + payload_bytes() - 1) / payload_bytes()));
}

void Model82576::deliver(const Frame& frame, size_t header) {
    EXPECT_EQ(reg(srrctl) >> 25 & 7, 5) << "header split always";
    EXPECT_EQ(reg(rctl) >> 10 & 3, 0) << "no descriptor type in RCTL";
    EXPECT_EQ(reg(psrtype) & 0x38e, 0x38e) << "IPv4 and IPv6, alone and with TCP and UDP";
    EXPECT_GT(header_bytes(), 0);
    EXPECT_GT(payload_bytes(), 0);
    const size_t in_header = in_header_buffer(frame.size(), header);
    const bool parsed = header > 0 && frame.size() > header_bytes() && !does_not_split;
    const bool overflow = parsed && header > header_bytes();
    std::span<const std::byte> left(frame);
    bool first = true;
    do {
        const Iova at = take(rx_queue(), 16);
        const Iova packet_buffer = memory().read_word(at);
        const Iova header_buffer = memory().read_word(at + 8);
        EXPECT_FALSE(header_buffer & 1) << "looks like a descriptor that is done";
        uint64_t header_status = 0;
        if (first && in_header > 0) {
            memory().write(header_buffer, left.first(in_header));
            left = left.subspan(in_header);
            header_status = (parsed ? header : in_header) << 5 | (parsed ? 0x8000 : 0);
        }
        const size_t in_packet = std::min(left.size(), payload_bytes());
        if (in_packet > 0) memory().write(packet_buffer, left.first(in_packet));
        left = left.subspan(in_packet);
        const uint64_t status = (left.empty() ? 3 : 1) | (first && overflow ? 1U << 23 : 0);
        write_back(at, {header_status << 16, status | uint64_t{in_packet} << 32, 0, 0}, 2, left.empty());
        first = false;
    } while (!left.empty());
}

void Model82576::check_tx(uint64_t word) const {
    EXPECT_TRUE(word & 1U << 29) << "an advanced descriptor";
    EXPECT_EQ(word >> 20 & 15, 3) << "a data descriptor";
    EXPECT_GE(word >> 46, word & 0xffff) << "length of the whole frame";
    EXPECT_EQ(word >> 32 & 0x3fff, 0) << "status left over, or offloads";
}

}  // namespace pktpit::offload::test
