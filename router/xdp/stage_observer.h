// SPDX-License-Identifier: BSD-3-Clause
/// What port stages write down while somebody observes (bpf/observe.h): what they are to write, and the rings
/// that it comes by, which are there only as long as this is. The daemon's thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "bpf/abi.h"
#include "router/xdp/maps.h"
#include "router/xdp/ring_reader.h"

namespace pktpit::router {

class StageObserver {
  public:
    /// `maps` outlives this. Records are handed on as they are, not checked.
    static Result<std::unique_ptr<StageObserver>> open(const PortMaps& maps, const pp_observing& wanted,
                                                       RingReader::Handler on_record);

    Result<void> change(const pp_observing& wanted);
    [[nodiscard]] const pp_observing& wanted() const { return wanted_; }
    /// Readable when records wait; for epoll. A few may wait without: poll() every 100 ms.
    [[nodiscard]] int descriptor() const { return rings_->descriptor(); }
    /// Hands on what waits now, at most one ring per CPU.
    void poll() { rings_->poll(); }
    /// Records that found no room in a ring, since open().
    [[nodiscard]] uint64_t lost(uint16_t port) const;

  private:
    explicit StageObserver(const PortMaps& maps);
    [[nodiscard]] uint64_t lost_ever(uint16_t port) const;

    const PortMaps& maps_;
    pp_observing wanted_{};
    std::array<uint64_t, PP_MAX_PORTS> lost_before_{};
    std::unique_ptr<RingReader> rings_;
};

}  // namespace pktpit::router
