// SPDX-License-Identifier: BSD-3-Clause
/// A driver over a modelled chip, with memory for its rings, headers and payloads, and a record of who owns
/// each slot: one that comes back twice, or never, is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "offload/nic/drivers.h"
#include "offload/nic/nic.h"
#include "tests/unit/nic/model_nic.h"

namespace pktpit::offload::test {

/// Does not wait, but fails once more time has been asked for than a reset and a stop may take.
class CountedDelay : public Delay {
  public:
    void wait(std::chrono::microseconds time) override {
        waited += time;
        ASSERT_LT(waited, std::chrono::seconds(60)) << "the driver waits for ever";
    }
    std::chrono::microseconds waited{0};
};

/// The chips that all tests run on.
struct ChipUnderTest {
    const char* name;
    uint16_t device;
    std::unique_ptr<ModelNic> (*model)(DmaMemory&);
};
extern const std::vector<ChipUnderTest> chips;

enum class Owner : uint8_t { test, rx_ring, tx_ring };

class Rig {
  public:
    static constexpr uint8_t region = 3;

    explicit Rig(const ChipUnderTest& chip, NicLayout layout = {}, uint32_t slots = 1024);

    /// reset() and start(), which must work.
    void start();
    /// Gives the NIC as many of the test's slots as it takes, at most `most`.
    size_t fill(size_t most = SIZE_MAX);
    /// Takes all received frames and dropped slots; returns the frames, their slots the test's again.
    std::vector<Frame> receive(size_t batch = 32);
    /// Sends frames from the test's slots: `header` bytes in its header cell, the rest in its payload.
    /// Returns how many were taken.
    size_t transmit(const std::vector<Frame>& frames, size_t header);
    size_t complete(size_t batch = 32);
    bool stop();
    /// All slots are the test's again.
    void expect_all_back() const;

    [[nodiscard]] size_t owned_by(Owner owner) const;
    [[nodiscard]] Frame contents(const RxFrame& frame) const;
    [[nodiscard]] RxBuffer buffer(uint32_t slot) const;
    [[nodiscard]] DmaBuffer rings() { return {std::span(ring_memory_, ring_bytes_), ring_iova}; }
    [[nodiscard]] uint64_t statistic(std::string_view name);
    void move(Slot slot, Owner from, Owner to);

    static constexpr Iova ring_iova = 0x1'0000'0000;
    static constexpr Iova header_iova = 0x2'0000'0000;
    static constexpr Iova payload_iova = 0x38'0000'0000;

    NicLayout layout;
    DmaMemory memory;
    CountedDelay delay;
    std::unique_ptr<ModelNic> model;
    std::unique_ptr<Nic> nic;
    std::vector<RxFrame> last_received;

  private:
    [[nodiscard]] std::vector<uint32_t> free_slots(size_t most) const;

    std::unique_ptr<std::byte, decltype(&std::free)> ring_owner_;
    std::byte* ring_memory_;
    size_t ring_bytes_;
    std::vector<std::byte> headers_;
    std::vector<std::byte> payloads_;
    std::vector<Owner> owners_;
};

/// For tests on every chip.
class NicTest : public testing::TestWithParam<ChipUnderTest> {};

/// After reset() and start(), with the layout of the default.
class StartedNicTest : public NicTest {
  protected:
    StartedNicTest() { rig.start(); }
    Rig rig{GetParam()};
};

}  // namespace pktpit::offload::test
