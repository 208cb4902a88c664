// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/packet_buffers.h"

#include <gtest/gtest.h>

#include <array>

#include "bench/fib/random.h"

namespace pktpit::bench::fib {
namespace {

template <LookupAddress Address>
Address numbered(uint32_t number) {
    if constexpr (family_of<Address> == Family::ipv4) {
        return number * 0x01010101u + 7;
    } else {
        Address6 address{};
        address[0] = 0x20;
        for (size_t i = 0; i < 4; i++)
            address[12 + i] = static_cast<uint8_t>(number >> (8 * i));
        return address;
    }
}

template <class Address>
class PacketBuffersTest : public testing::Test {};
using Families = testing::Types<Address4, Address6>;
TYPED_TEST_SUITE(PacketBuffersTest, Families);

TYPED_TEST(PacketBuffersTest, GiveBackWhatTheyWereFilledWith) {
    using Address = TypeParam;
    constexpr size_t packets = 4 * batch_size;
    PacketBuffers<Address> buffers(packets, 1);
    ASSERT_EQ(buffers.size(), packets);
    for (const uint32_t generation : {0u, 1000u}) {
        std::vector<Address> destinations;
        for (uint32_t i = 0; i < packets; i++)
            destinations.push_back(numbered<Address>(generation + i));
        buffers.fill(destinations);
        std::array<Address, batch_size> gathered;
        for (size_t first = 0; first < packets; first += batch_size) {
            buffers.gather(first, gathered.data());
            for (size_t i = 0; i < batch_size; i++)
                ASSERT_EQ(gathered[i], destinations[first + i]);
        }
    }
}

TYPED_TEST(PacketBuffersTest, ResultsOfBothWidthsGoToTheirPackets) {
    constexpr size_t packets = 2 * batch_size;
    PacketBuffers<TypeParam> buffers(packets, 1);
    std::vector<TypeParam> destinations(packets, numbered<TypeParam>(3));
    buffers.fill(destinations);
    std::array<uint32_t, batch_size> narrow;
    std::array<uint64_t, batch_size> wide;
    for (uint32_t i = 0; i < batch_size; i++) {
        narrow[i] = 100 + i;
        wide[i] = 1000 + i;
    }
    buffers.scatter(0, narrow.data());
    buffers.scatter(batch_size, wide.data());
    for (uint32_t i = 0; i < batch_size; i++) {
        EXPECT_EQ(buffers.result(i), 100 + i);
        EXPECT_EQ(buffers.result(batch_size + i), 1000 + i);
    }
    // Nor have they touched the headers.
    std::array<TypeParam, batch_size> gathered;
    buffers.gather(0, gathered.data());
    for (const auto& address : gathered)
        EXPECT_EQ(address, numbered<TypeParam>(3));
}

}  // namespace
}  // namespace pktpit::bench::fib
