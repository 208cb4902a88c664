// SPDX-License-Identifier: BSD-3-Clause
// Which sources readers look up: each that was noted as often as it was forgotten less than noted, and of
// others few.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

class Sources : public testing::Test {
  protected:
    bool suspect(const IpAddress& address) {
        const auto word = [&](size_t at) {
            uint64_t value = 0;
            for (size_t i = 0; i < 8; i++)
                value = value << 8 | address.bytes[at + i];
            return value;
        };
        const uint32_t bit = address.is_v4() ? pp_fib_source_bit4(address.v4_host_order())
                                             : pp_fib_source_bit6(word(0), word(8));
        return pp_fib_is_suspect(image.base(), &image.geometry(), bit) != 0;
    }
    IpAddress random_address() {
        if (random() % 2 == 0) return IpAddress::v4(static_cast<uint32_t>(random()));
        IpAddress address;
        address.family = Family::ipv6;
        for (auto& byte : address.bytes)
            byte = static_cast<uint8_t>(random());
        return address;
    }
    test::TestImage image;
    std::mt19937_64 random{7};
};

TEST_F(Sources, WhatIsNotedIsFoundUntilItIsForgottenAsOften) {
    std::map<IpAddress, int> noted;
    for (int step = 0; step < 20'000; step++) {
        const bool known = !noted.empty() && random() % 2 == 0;
        const IpAddress address =
            known ? std::next(noted.begin(), static_cast<long>(random() % noted.size()))->first
                  : random_address();
        if (known && random() % 3 != 0) {
            image->forget_source(address);
            if (--noted[address] == 0) noted.erase(address);
        } else {
            image->note_source(address);
            noted[address]++;
        }
        if (step % 500 != 0) continue;
        for (const auto& [one, times] : noted)
            ASSERT_TRUE(suspect(one)) << one.to_string();
    }
    for (const auto& [address, times] : noted)
        for (int i = 0; i < times; i++)
            image->forget_source(address);
    for (const auto& [address, times] : noted)
        EXPECT_FALSE(suspect(address)) << address.to_string();
}

// What another lookup costs each packet is saved for nearly all.
TEST_F(Sources, OfOthersFewAreLookedUp) {
    for (uint32_t net = 0; net < 100; net++)
        for (const uint32_t host : {0U, 1U, 255U})
            image->note_source(IpAddress::v4(0x0a000000 + net * 256 + host));
    int looked_up = 0;
    constexpr int tries = 100'000;
    for (int i = 0; i < tries; i++)
        looked_up += suspect(random_address()) ? 1 : 0;
    EXPECT_LT(looked_up, tries / 50) << "of 300 addresses in 32,768 bits 0.9 % are to be expected";
}

}  // namespace
}  // namespace pktpit::fib
