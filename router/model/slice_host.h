// SPDX-License-Identifier: BSD-3-Clause
/// The modelled CPU of a router whose decisions are the real control loop's: its bursts of header slices are
/// handed over when their modelled time is over, and virtual time stands until they have been answered. The
/// worker's thread.
#pragma once

#include <optional>
#include <span>

#include "offload/model/pktpit_program.h"

namespace pktpit::router {

class SliceHost : public model::HostCpu {
  public:
    static constexpr size_t most_slices = 64;  ///< of a burst
    struct Slice {
        unsigned nic = 0;
        model::SliceDescriptor descriptor;
        const std::byte* bytes = nullptr;  ///< in modelled main memory, until answered
    };

    SliceHost(model::Fabric& fabric, std::vector<model::Nic*> nics, std::vector<model::HostRings> rings,
              model::CpuSettings settings, const model::PktpitSettings& program);
    /// Tells the NICs how much room the rings have.
    void start();

    /// A burst that waits for its answers; empty: none does.
    [[nodiscard]] std::span<const Slice> burst() const { return burst_; }
    /// One answer to each slice of the burst, in any order; the last one rings the doorbells.
    void answer(size_t slice, model::EgressAnswer answer, std::span<const uint8_t> header);

  private:
    size_t ready(size_t nic, size_t most) override;
    void process(size_t nic, size_t count) override;

    model::PktpitSettings program_;
    std::vector<Slice> burst_;
    size_t left_ = 0;              ///< slices of the burst without an answer
    std::vector<uint64_t> taken_;  ///< slices, by NIC
    std::vector<uint64_t> answered_;
};

}  // namespace pktpit::router
