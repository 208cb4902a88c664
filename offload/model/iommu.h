// SPDX-License-Identifier: BSD-3-Clause
/// An IOMMU with its IOTLB: sets of four, least recently used goes; misses wait for one of a few page
/// walkers. Translation is the identity (as the vfio dataplane maps BARs); what is modelled is its time. One
/// thread.
#pragma once

#include <cstddef>
#include <vector>

#include "offload/model/time.h"

namespace pktpit::model {

struct IommuSettings {
    bool on = false;
    uint64_t page_bytes = 4096;
    unsigned entries = 64;
    unsigned walkers = 4;
    Time hit = 0;
    Time walk = 0;
};

class Iommu {
  public:
    explicit Iommu(const IommuSettings& settings);
    /// When an access that asks now may go on.
    Time translate(Time now, uint64_t address);
    [[nodiscard]] bool on() const { return settings_.on; }
    [[nodiscard]] uint64_t hits() const { return hits_; }
    [[nodiscard]] uint64_t misses() const { return misses_; }

  private:
    static constexpr size_t ways = 4;
    struct Entry {
        uint64_t page = ~uint64_t{0};
        uint64_t used = 0;
        Time ready = 0;  ///< when its walk ends
    };
    IommuSettings settings_;
    std::vector<Entry> entries_;
    std::vector<Time> walkers_;
    uint64_t clock_ = 0;
    uint64_t hits_ = 0;
    uint64_t misses_ = 0;
};

}  // namespace pktpit::model
