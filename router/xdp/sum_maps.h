// SPDX-License-Identifier: BSD-3-Clause
/// The maps of aggregation (bpf/aggregation_abi.h): made when there is a first group, pinned beside the
/// others, taken over from an earlier daemon with what is in them, so that epochs go on. And the egress
/// program, which each worker's place in its group's DEVMAP has. Used by Sums; the daemon's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "bpf/aggregation_abi.h"
#include "router/xdp/maps.h"
#include "router/xdp/pins.h"

namespace pktpit::router {

class SumMaps {
  public:
    /// What is pinned and of this layout is taken over. `counters`: of the ports. Errors: no memory, no
    /// privilege.
    static Result<std::unique_ptr<SumMaps>> open(const PinDirectory& pins, const Fd& counters);

    [[nodiscard]] std::span<pp_sum_group> groups() const;
    [[nodiscard]] std::span<pp_sum_slot> slots() const;
    /// They were an earlier daemon's.
    [[nodiscard]] bool adopted() const { return adopted_; }
    /// The stage looks at the group for packets to the port (network byte order), or no more.
    [[nodiscard]] Result<void> set_port(uint16_t port, uint32_t group) const;
    void remove_port(uint16_t port) const;
    /// A new DEVMAP for the group, without workers.
    [[nodiscard]] Result<void> begin_exits(uint32_t group);
    /// Results of the group for the worker leave by the device, 0: by none.
    [[nodiscard]] Result<void> set_exit(uint32_t group, uint32_t worker, uint32_t device) const;
    void end_exits(uint32_t group);
    /// The program that results are addressed by.
    [[nodiscard]] int egress() const { return egress_.get(); }

    [[nodiscard]] Result<void> pin(const PinDirectory& pins) const;
    static void unpin(const PinDirectory& pins);

    /// Of the object's maps by their names; -1: it is none of these.
    [[nodiscard]] int map(std::string_view name) const;

  private:
    Result<void> make(const PinDirectory& pins);
    Result<void> load_egress(const Fd& counters);

    Fd groups_, ports_, slots_, exits_;
    MappedImage groups_memory_, slots_memory_;
    std::array<Fd, PP_SUM_GROUPS> exits_of_;
    Fd egress_;
    bool adopted_ = false;
};

}  // namespace pktpit::router
