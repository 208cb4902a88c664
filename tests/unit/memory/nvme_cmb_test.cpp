// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/nvme_cmb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace pktpit::offload {
namespace {

constexpr uint32_t location(uint32_t offset_units, uint32_t bar) {
    return offset_units << 12 | bar;
}
constexpr uint32_t size_of(uint32_t units, uint32_t unit_code) {
    return units << 12 | unit_code << 8;
}

// NVMe Base Specification 2.0, figures 48 and 49: BIR 2:0, OFST 31:12; SZU 11:8, SZ 31:12; a unit is
// 4 KiB * 16^SZU; BIR 0 and 2 to 5, SZU 0 to 6 are valid.
TEST(LocateCmb, EveryFieldValueFollowsTheFormula) {
    constexpr uint32_t fields[] = {0, 1, 2, 0x7ff, 0x800, 0xffffe, 0xfffff};
    for (uint32_t bar = 0; bar < 8; bar++)
        for (uint32_t code = 0; code < 16; code++)
            for (const uint32_t offset : fields)
                for (const uint32_t units : fields)
                    for (const uint32_t flags : {0u, 0x1fu, 0xffu}) {
                        const uint32_t cmbloc = location(offset, bar) | (flags << 3 & 0xff8);
                        const uint32_t cmbsz = size_of(units, code) | flags;
                        const bool valid = units != 0 && code <= 6 && bar != 1 && bar <= 5;
                        const auto place = locate_cmb(cmbloc, cmbsz);
                        ASSERT_EQ(place.has_value(), valid) << std::hex << cmbloc << " " << cmbsz;
                        if (!valid) continue;
                        // Exact: a double holds 53 bits, a field has 20.
                        const double unit = 4096 * std::pow(16, code);
                        ASSERT_EQ(place->bar, bar);
                        ASSERT_EQ(static_cast<double>(place->offset), offset * unit);
                        ASSERT_EQ(static_cast<double>(place->bytes), units * unit);
                    }
}

TEST(LocateCmb, ErrorsSayWhatIsWrong) {
    EXPECT_NE(locate_cmb(~0U, ~0U).error().message.find("does not answer"), std::string::npos);
    EXPECT_NE(locate_cmb(0, 0).error().message.find("no controller memory buffer"), std::string::npos);
    EXPECT_NE(locate_cmb(0, size_of(1, 7)).error().message.find("SZU is 7"), std::string::npos);
    EXPECT_NE(locate_cmb(1, size_of(1, 0)).error().message.find("BIR is 1"), std::string::npos);
    EXPECT_NE(locate_cmb(7, size_of(1, 0)).error().message.find("BIR is 7"), std::string::npos);
    EXPECT_FALSE(locate_cmb(0, ~0U).has_value());
}

}  // namespace
}  // namespace pktpit::offload
