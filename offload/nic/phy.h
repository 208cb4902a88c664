// SPDX-License-Identifier: BSD-3-Clause
/// The copper PHY behind a gigabit controller, over MDIO (IEEE 802.3 clause 22; 82574 datasheet 10.2.2.7,
/// MDIC). Control plane only.
#pragma once

#include "offload/nic/device.h"

namespace pktpit::offload::gigabit {

/// Powers the PHY up and lets it negotiate, if there is no link or whoever had the NIC before left it
/// otherwise. (QEMU's igb has no link after a software reset until negotiation is started.) A PHY that does
/// not answer is left alone: the link then says what there is.
void wake_phy(Device& device);

}  // namespace pktpit::offload::gigabit
