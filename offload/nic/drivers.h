// SPDX-License-Identifier: BSD-3-Clause
/// make_nic() with the clock put in, for tests.
#pragma once

#include <cstdint>
#include <memory>

#include "offload/nic/delay.h"
#include "offload/nic/nic.h"

namespace pktpit::offload {

std::unique_ptr<Nic> make_nic(uint16_t vendor, uint16_t device, Registers& registers, Delay& delay);

}  // namespace pktpit::offload
