// SPDX-License-Identifier: BSD-3-Clause
// pcie-bench's formula against closed forms, the paper's figures and those of the references. All numbers are
// emergent: nothing is calibrated but the protocol's constants.
#include "offload/pci/bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pktpit::offload {
namespace {

constexpr double giga = 1e9;

TEST(Bandwidth, RawRates) {
    EXPECT_DOUBLE_EQ(raw_rate({2.5, 1}), 0.25 * giga);
    EXPECT_DOUBLE_EQ(raw_rate({5, 4}), 2 * giga);
    EXPECT_NEAR(raw_rate({8, 16}) / giga, 15.75, 0.005);
    EXPECT_NEAR(raw_rate({16, 16}) / giga, 31.51, 0.005);
    EXPECT_NEAR(raw_rate({64, 16}) / giga, 128 * 242.0 / 256, 1e-9);
    EXPECT_EQ(raw_rate({}), 0);
    EXPECT_EQ(raw_rate({8, 0}), 0);
}

TEST(Bandwidth, TlpRateOfPcieBench) {
    // SIGCOMM 2018, section 3: Gen3 x8 has 62.96 Gbit/s at the physical layer, 57.88 for TLPs.
    EXPECT_NEAR(tlp_rate({8, 8}, 256) * 8 / giga, 57.88, 0.01);
    EXPECT_DOUBLE_EQ(tlp_rate({8, 8}, 256, {.data_link_overhead = false}), raw_rate({8, 8}));
    // Flits: 236 of 256 bytes are TLPs'.
    EXPECT_NEAR(tlp_rate({64, 1}, 256), 8 * giga * 236 / 256, 1);
}

TEST(Bandwidth, TlpOverheads) {
    EXPECT_EQ(write_overhead({}), 24U);
    EXPECT_EQ(read_request_overhead({}), 24U);
    EXPECT_EQ(completion_overhead({}), 20U);
    const PcieAssumptions small{.address_64bit = false, .ecrc = true};
    EXPECT_EQ(write_overhead(small), 24U);
    EXPECT_EQ(completion_overhead(small), 24U);
}

TEST(Bandwidth, WireBytes) {
    EXPECT_EQ(write_wire_bytes(1024, 256), 1024U + 4 * 24);
    EXPECT_EQ(write_wire_bytes(1025, 256), 1025U + 5 * 24);
    EXPECT_EQ(write_wire_bytes(0, 256), 0U);
    EXPECT_EQ(read_request_wire_bytes(1500, 512), 3U * 24);
    EXPECT_EQ(completion_wire_bytes(1500, 256, 512), 1500U + 6 * 20);
    // A request smaller than the payload size: its answer is no larger.
    EXPECT_EQ(completion_wire_bytes(1024, 512, 128), 1024U + 8 * 20);
    const PcieAssumptions boundary{.completions = Completions::at_boundary, .boundary = 64};
    EXPECT_EQ(completion_wire_bytes(1024, 256, 512, boundary), 1024U + 16 * 20);
}

TEST(Bandwidth, ClosedForm) {
    const PcieLink link{16, 4};
    const PcieAssumptions raw{.data_link_overhead = false};
    EXPECT_DOUBLE_EQ(write_rate(link, 128, 1280, raw), raw_rate(link) * 128 / (128 + 24));
    EXPECT_DOUBLE_EQ(read_rate(link, 128, 512, 4096, raw), raw_rate(link) * 128 / (128 + 20));
    // Requests are what fills the link where each byte is asked for by itself.
    EXPECT_DOUBLE_EQ(read_rate(link, 128, 1, 16, raw), raw_rate(link) * 16 / (16 * 24));
    EXPECT_EQ(write_rate({}, 256, 64), 0);
    EXPECT_EQ(write_rate(link, 256, 0), 0);
    EXPECT_EQ(write_rate(link, 0, 0), 0);
}

TEST(Bandwidth, ReferenceGen3x16) {
    EXPECT_NEAR(write_rate({8, 16}, 256, 4096) / giga, 12.99, 0.005);
    EXPECT_NEAR(write_rate({8, 16}, 512, 4096) / giga, 13.69, 0.005);
}

/// What bouncing through main memory costs at most, Gbit/s, over payloads of whole doublewords, which is what
/// TLPs carry. Gen3 x8, MPS 256, MRRS 512.
double most_expensive_bounce(const PcieAssumptions& assumptions) {
    double most = 0;
    for (uint64_t bytes = 4; bytes <= 1516; bytes += 4)
        most = std::max(most, write_rate({8, 8}, 256, bytes, assumptions) -
                                  write_and_read_rate({8, 8}, 256, 512, bytes, assumptions));
    return most * 8 / giga;
}

TEST(Bandwidth, ReferenceBounceCost) {
    // P2PNIC, Gen3 x8, MPS 256, MRRS 512: P2P writes against bouncing through main memory.
    const PcieLink link{8, 8};
    EXPECT_NEAR(write_rate(link, 256, 64) * 8 / giga, 42.1, 0.05);
    EXPECT_NEAR(write_and_read_rate(link, 256, 512, 64) * 8 / giga, 33.1, 0.05);
    EXPECT_NEAR(most_expensive_bounce({}), 9.9, 0.05);
}

TEST(Bandwidth, ReferenceBounceCostWithOtherAssumptions) {
    const auto at_boundary = [](bool wide, bool ecrc, bool data_link) {
        return most_expensive_bounce({.address_64bit = wide,
                                      .ecrc = ecrc,
                                      .data_link_overhead = data_link,
                                      .completions = Completions::at_boundary,
                                      .boundary = 64});
    };
    EXPECT_NEAR(at_boundary(true, false, true), 10.5, 0.05);
    EXPECT_NEAR(at_boundary(false, false, true), 11.4, 0.05);
    EXPECT_NEAR(at_boundary(false, false, false), 12.4, 0.05);
    EXPECT_NEAR(at_boundary(false, true, true), 12.7, 0.05);
}

TEST(Bandwidth, MoreIsNeverLess) {
    for (unsigned mps = 128; mps <= 2048; mps *= 2) {
        EXPECT_GT(write_rate({8, 8}, 2 * mps, 8192), write_rate({8, 8}, mps, 8192)) << mps;
        EXPECT_GE(read_rate({8, 8}, 256, 2 * mps, 8192), read_rate({8, 8}, 256, mps, 8192)) << mps;
    }
}

}  // namespace
}  // namespace pktpit::offload
