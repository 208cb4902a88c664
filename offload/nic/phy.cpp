// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/phy.h"

#include <chrono>
#include <optional>

#include "offload/nic/gigabit.h"

namespace pktpit::offload::gigabit {
namespace {

constexpr uint32_t phy_address = 1U << 21;
constexpr uint32_t write_operation = 1U << 26;
constexpr uint32_t read_operation = 2U << 26;
constexpr uint32_t ready = 1U << 28;
constexpr uint32_t error = 1U << 30;
constexpr std::chrono::milliseconds limit{2};  // one MDIO frame takes 64 µs

constexpr uint32_t control_register = 0;
constexpr uint16_t restart_negotiation = 1U << 9;
constexpr uint16_t isolate = 1U << 10;
constexpr uint16_t power_down = 1U << 11;
constexpr uint16_t negotiate = 1U << 12;

std::optional<uint16_t> transact(Device& device, uint32_t command) {
    device.write(reg::mdic, command | phy_address);
    if (!device.wait_until(reg::mdic, ready, ready, limit)) return std::nullopt;
    const uint32_t answer = device.read(reg::mdic);
    if (answer & error) return std::nullopt;
    return static_cast<uint16_t>(answer);
}

}  // namespace

void wake_phy(Device& device) {
    const auto control = transact(device, read_operation | control_register << 16);
    if (!control) return;
    const bool up = (device.read(reg::status) & status::link_up) != 0;
    if (up && (*control & negotiate) && !(*control & (power_down | isolate))) return;
    const uint16_t wanted =
        static_cast<uint16_t>((*control & ~(power_down | isolate)) | negotiate | restart_negotiation);
    static_cast<void>(transact(device, write_operation | control_register << 16 | wanted));
}

}  // namespace pktpit::offload::gigabit
