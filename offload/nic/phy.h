/// The copper PHY behind a gigabit controller, over MDIO (IEEE 802.3 clause 22; 82574 datasheet 10.2.2.7,
/// MDIC). Control plane only.
#pragma once

#include "offload/nic/device.h"

namespace pktpit::offload::gigabit {

/// Powers the PHY up and lets it negotiate, if whoever had the NIC before left it otherwise. A PHY that
/// does not answer is left alone: the link then says what there is.
void wake_phy(Device& device);

}  // namespace pktpit::offload::gigabit
