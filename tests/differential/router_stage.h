// SPDX-License-Identifier: BSD-3-Clause
/// Fixtures: tests that load eBPF programs, which needs root, and the port stage over the test router
/// (tests/unit/forward/test_router.h).
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tests/differential/compare.h"
#include "tests/unit/forward/vectors.h"

namespace pktpit::test {

class StageTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!LoadedPortStage::permitted()) GTEST_SKIP() << "loading eBPF programs needs root";
        prepare();
    }
    virtual void prepare() {}
};

class RouterStage : public StageTest {
  protected:
    void load(std::span<const uint16_t> ports, const StageOptions& options = {},
              const fib::Capacity& capacity = router::test::small_capacity()) {
        stage.emplace(fib::plan_geometry(capacity), ports, all_ports, options);
        image.emplace(stage->memory(), stage->geometry(), [] {});
        router::test::fill_test_router(*image, stage->memory().data());
    }
    /// Of the ways to ports 2 and 3.
    void set_mtu(uint32_t mtu) {
        for (auto id : {1u, 2u, 3u}) {
            auto value = image->adjacency(id);
            value.mtu = mtu;
            image->update_adjacency(id, value);
        }
    }
    static Bytes packet(const char* destination = "10.1.0.9", size_t payload = 26) {
        return router::test::frame(
            router::test::arriving,
            router::test::Ipv4{.destination = destination, .payload = router::test::transport(payload)});
    }
    static Bytes packet_of_length(uint16_t total_length, uint8_t ttl = 64) {
        return router::test::frame(
            router::test::arriving,
            router::test::Ipv4{
                .ttl = ttl, .payload = router::test::transport(6000), .total_length = total_length});
    }
    /// As forward() says, by the stage itself.
    Outcome expect_decided(const Bytes& frame, pp_verdict verdict = PP_FORWARDED, uint16_t port = 1) {
        Comparison c = compare(*stage, port, frame);
        EXPECT_EQ(c.difference, "");
        EXPECT_STREQ(router::name_of(c.outcome.verdict), router::name_of(verdict));
        return std::move(c.outcome);
    }
    Outcome expect_vector(const router::test::Vector& vector) {
        Outcome outcome = expect_decided(vector.in, vector.verdict, vector.port);
        if (vector.verdict == PP_FORWARDED) EXPECT_EQ(outcome.frame, vector.out);
        return outcome;
    }

    std::optional<LoadedPortStage> stage;
    std::optional<fib::FibImage> image;
};

}  // namespace pktpit::test
