// SPDX-License-Identifier: BSD-3-Clause
/// What port stages write down while somebody observes (bpf/observe.h): what they are to write, and the perf
/// rings that it comes by, which are there only as long as this is. The daemon's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "bpf/abi.h"
#include "router/xdp/maps.h"

struct perf_buffer;
struct perf_event_header;

namespace pktpit::router {

class StageObserver {
  public:
    /// `maps` outlives this. Records are handed on as they are, not checked.
    static Result<std::unique_ptr<StageObserver>> open(
        const PortMaps& maps, const pp_observing& wanted,
        std::function<void(std::span<const uint8_t> record)> on_record);
    ~StageObserver();

    Result<void> change(const pp_observing& wanted);
    [[nodiscard]] const pp_observing& wanted() const { return wanted_; }
    /// Readable when records wait; for epoll. A few may wait without: poll() every 100 ms.
    [[nodiscard]] int descriptor() const;
    /// Hands on what waits now, at most one ring per CPU.
    void poll();
    /// Records that found no room in a ring, since open().
    [[nodiscard]] uint64_t lost(uint16_t port) const;

  private:
    StageObserver(const PortMaps& maps, std::function<void(std::span<const uint8_t>)> on_record);
    void receive(const perf_event_header* event) const;
    [[nodiscard]] uint64_t lost_ever(uint16_t port) const;

    const PortMaps& maps_;
    std::function<void(std::span<const uint8_t>)> on_record_;
    pp_observing wanted_{};
    std::array<uint64_t, PP_MAX_PORTS> lost_before_{};
    std::unique_ptr<perf_buffer, void (*)(perf_buffer*)> buffer_;
};

}  // namespace pktpit::router
