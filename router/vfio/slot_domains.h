// SPDX-License-Identifier: BSD-3-Clause
/// Which part of the slots the NICs of each IOMMU domain may write: a NIC that goes astray, or whose firmware
/// is malicious, spoils its own part and reads the rest. The daemon's thread, with the worker paused.
#pragma once

#include <memory>
#include <vector>

#include "router/vfio/slot_memory.h"

namespace pktpit::router {

class SlotDomains {
  public:
    /// `slots` outlives it.
    explicit SlotDomains(SlotMemory& slots) : slots_(slots) {}

    struct Place {
        uint8_t part = 0;
        bool shared = false;  ///< another domain has it, too: there were fewer domains at the start
    };
    /// Maps the slots for a domain, those in peer memory if its NIC is `direct`. A domain that is known has
    /// its part already; a new one gets the part that the fewest have. Error: the IOMMU's.
    Result<Place> admit(const std::shared_ptr<offload::DmaDomain>& domain, bool direct);

  private:
    struct Known {
        std::weak_ptr<offload::DmaDomain> domain;
        uint8_t part;
        bool reaches_peer;
    };
    [[nodiscard]] size_t users_of(size_t part) const;
    [[nodiscard]] size_t choose(bool direct) const;

    SlotMemory& slots_;
    std::vector<Known> known_;
};

}  // namespace pktpit::router
