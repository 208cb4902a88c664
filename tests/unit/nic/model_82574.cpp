// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/nic/model_82574.h"

#include <algorithm>

namespace pktpit::offload::test {
namespace {

constexpr uint32_t rctl = 0x0100;
constexpr uint32_t tctl = 0x0400;
constexpr uint32_t psrctl = 0x2170;
constexpr uint32_t tarc0 = 0x3840;
constexpr uint32_t rfctl = 0x5008;

}  // namespace

void Model82574::defaults() {
    set(psrctl, 0x00040402);
    set(tarc0, 0x00000403);
    set(tctl, 0x10000008);
}

bool Model82574::receiver_on() const {
    return reg(rctl) & 2;
}
bool Model82574::transmitter_on() const {
    return (reg(tctl) & 2) && (reg(tarc0) & 1U << 10);
}

uint32_t Model82574::rx_descriptors_for(size_t bytes, size_t header) const {
    const bool split = header > 0 && header <= header_bytes();
    const size_t first = split ? header + payload_bytes() : header_bytes() + payload_bytes();
    const size_t more = split ? payload_bytes() : header_bytes() + payload_bytes();
    return bytes <= first ? 1 : static_cast<uint32_t>(1 + (bytes - first + more - 1) / more);
}

void Model82574::deliver(const Frame& frame, size_t header) {
    EXPECT_TRUE(reg(rfctl) & 1U << 15) << "packet split needs extended descriptors";
    EXPECT_EQ(reg(rctl) >> 10 & 3, 1) << "descriptor type";
    EXPECT_EQ(reg(psrctl) >> 16, 0) << "buffers 2 and 3 have no memory";
    EXPECT_GT(header_bytes(), 0);
    EXPECT_GT(payload_bytes(), 0);
    const bool split = header > 0 && header <= header_bytes();
    std::span<const std::byte> left(frame);
    for (bool first = true; !left.empty(); first = false) {
        const Iova at = take(rx_queue(), 32);
        const Iova buffers[] = {memory().read_word(at), memory().read_word(at + 8)};
        // Unused buffers, and a payload address that does not look like a descriptor that is done.
        EXPECT_EQ(memory().read_word(at + 16), ~uint64_t{0});
        EXPECT_EQ(memory().read_word(at + 24), ~uint64_t{0});
        EXPECT_FALSE(buffers[1] & 1);
        const size_t in_header = split ? (first ? header : 0) : std::min(left.size(), header_bytes());
        if (in_header > 0) memory().write(buffers[0], left.first(in_header));
        left = left.subspan(in_header);
        const size_t in_payload = std::min(left.size(), payload_bytes());
        if (in_payload > 0) memory().write(buffers[1], left.first(in_payload));
        left = left.subspan(in_payload);
        const uint64_t status = left.empty() ? 3 : 1;
        const uint64_t header_status = split ? header | 0x8000 : 0;
        write_back(at, {0, status | uint64_t{in_header} << 32, header_status | uint64_t{in_payload} << 16, 0},
                   4, left.empty());
    }
}

void Model82574::check_tx(uint64_t word) const {
    EXPECT_FALSE(word & 1U << 29) << "a legacy descriptor";
    EXPECT_EQ(word >> 32, 0) << "status left over";
}

}  // namespace pktpit::offload::test
