// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/device.h"

namespace pktpit::offload {
namespace {

constexpr uint32_t gone = 0xffffffff;
constexpr std::chrono::microseconds step{50};

}  // namespace

uint32_t Device::read(uint32_t offset) {
    const uint32_t value = registers_.read(offset);
    if (value == gone) errors_.dead_reads++;
    return value;
}

void Device::change(uint32_t offset, uint32_t clear, uint32_t set) {
    const uint32_t value = read(offset);
    if (value == gone) return;
    write(offset, (value & ~clear) | set);
}

bool Device::wait_until(uint32_t offset, uint32_t mask, uint32_t value, std::chrono::microseconds limit) {
    for (std::chrono::microseconds waited{0};; waited += step) {
        const uint32_t found = read(offset);
        if (found == gone) return false;
        if ((found & mask) == value) return true;
        if (waited >= limit) return false;
        delay_.wait(step);
    }
}

}  // namespace pktpit::offload
