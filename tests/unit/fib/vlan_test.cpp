// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::TestImage;

uint32_t seen(const TestImage& image, uint32_t port, uint32_t outer, uint32_t inner) {
    return pp_fib_vlan_interface(image.base(), &image.geometry(), port, outer, inner);
}

TEST(Vlan, RefusesReservedInterfaces) {
    TestImage image;
    EXPECT_FALSE(image->set_vlan(1, 100, 0, 0));
    EXPECT_FALSE(image->set_vlan(1, 100, 0, PP_VLAN_TOMBSTONE));
    EXPECT_EQ(image->usage().vlans, 0u);
}

TEST(Vlan, SaysWhenItsPlaceIsFull) {
    TestImage image;  // 64 slots
    unsigned placed = 0;
    std::string message;
    for (uint16_t vid = 1; vid <= 200 && message.empty(); vid++) {
        const auto before = image.bytes();
        const auto result = image->set_vlan(1, vid, 0, vid);
        if (result) {
            placed++;
        } else {
            message = result.error().message;
            EXPECT_EQ(image.bytes(), before);
        }
    }
    EXPECT_GE(placed, unsigned{PP_VLAN_PROBES});
    EXPECT_EQ(image->usage().vlans, placed);
    EXPECT_NE(message.find(std::to_string(placed) + " of 64 slots"), std::string::npos) << message;
    for (unsigned vid = 1; vid <= placed; vid++)
        EXPECT_EQ(seen(image, 1, static_cast<uint16_t>(vid), 0), vid);
}

// Erasing must never cut the way to those that were placed further on, nor leave the table full of
// tombstones.
TEST(Vlan, AgreesWithAMapThroughRandomChanges) {
    TestImage image;
    std::mt19937 random(3);
    std::map<std::array<uint16_t, 3>, uint16_t> model;
    for (int step = 0; step < 50000; step++) {
        const std::array<uint16_t, 3> key = {static_cast<uint16_t>(1 + random() % 2),
                                             static_cast<uint16_t>(1 + random() % 20),
                                             static_cast<uint16_t>(random() % 3)};
        if (model.size() < 40 && random() % 2) {
            const auto interface = static_cast<uint16_t>(1 + random() % 1000);
            if (image->set_vlan(key[0], key[1], key[2], interface)) model[key] = interface;
        } else {
            image->erase_vlan(key[0], key[1], key[2]);
            model.erase(key);
        }
        ASSERT_EQ(image->usage().vlans, model.size());
        if (step % 10 == 0)
            for (uint16_t port = 1; port <= 2; port++)
                for (uint16_t outer = 1; outer <= 20; outer++)
                    for (uint16_t inner = 0; inner < 3; inner++) {
                        const auto found = model.find({port, outer, inner});
                        ASSERT_EQ(seen(image, port, outer, inner), found == model.end() ? 0 : found->second);
                    }
    }
    for (const auto& [key, interface] : model)
        image->erase_vlan(key[0], key[1], key[2]);
    EXPECT_EQ(image->usage().vlans, 0u);
    for (uint16_t vid = 1; vid <= PP_VLAN_PROBES; vid++)
        EXPECT_TRUE(image->set_vlan(7, vid, 0, vid));
}

}  // namespace
}  // namespace pktpit::fib
