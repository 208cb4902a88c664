// SPDX-License-Identifier: BSD-3-Clause
/// The aggregation service of the `xdp` dataplane: groups in the maps that port stages add by, their epochs,
/// and the sockets that workers join by. What is added never passes here, and goes on without it. Used by
/// XdpDataplane; the daemon's thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "router/aggregation/group_socket.h"
#include "router/aggregation/membership.h"
#include "router/dataplane/aggregation_state.h"
#include "router/xdp/sum_maps.h"

namespace pktpit::router {

class Sums {
  public:
    /// `grace`: returns when no stage looks at what was taken out of the maps before the call.
    static Result<std::unique_ptr<Sums>> open(const PinDirectory& pins, const Fd& counters,
                                              std::function<void()> grace);
    ~Sums();

    /// These groups and no others; groups that are as they were go on. An Error leaves all as it was.
    Result<void> configure(const config::AggregationGroups& wanted);
    /// Groups that an earlier daemon has left and that nobody wants go, which have been let be until now: its
    /// data path might have been given back. To be called once, when it no longer can; without it the end of
    /// this leaves them as they were.
    void settle();
    [[nodiscard]] const SumMaps& maps() const { return *maps_; }
    [[nodiscard]] Result<void> pin(const PinDirectory& pins) const { return maps_->pin(pins); }

    /// Readable when poll() has something to do.
    [[nodiscard]] int descriptor() const { return epoll_.get(); }
    void poll();
    /// Every 100 ms. `now`: CLOCK_MONOTONIC.
    void tick(std::chrono::nanoseconds now);
    [[nodiscard]] std::vector<AggregationState> state(std::chrono::nanoseconds now) const;

  private:
    struct Group {
        uint32_t number = 0;  ///< in the maps
        config::AggregationGroup settings;
        Membership membership;
        std::shared_ptr<GroupSocket> socket;
        bool adopted = false;
        uint64_t chunks_before = 0;
        double chunks_per_second = 0;
    };
    struct Plan;
    struct LaterPort {
        uint16_t port = 0;  ///< network byte order
        uint32_t group = 0;
    };
    Sums() = default;
    [[nodiscard]] bool is_earlier_port(uint16_t port) const;
    [[nodiscard]] pp_sum_group& shared(const Group& group) const { return maps_->groups()[group.number]; }
    Result<Plan> plan(const config::AggregationGroups& wanted);
    void remove(const std::string& name);
    Result<void> add(const std::string& name, const config::AggregationGroup& settings, uint32_t number,
                     uint32_t first_slot, std::shared_ptr<GroupSocket> socket);
    Result<void> watch(const GroupSocket& socket);
    [[nodiscard]] std::map<std::string, uint32_t> adoptable(const config::AggregationGroups& wanted) const;
    Result<void> adopt(const std::string& name, const config::AggregationGroup& settings, uint32_t number,
                       std::shared_ptr<GroupSocket> socket);
    void heard(const std::string& name, Group& group, const WorkerPeer& peer,
               std::span<const uint8_t> datagram);
    void show_membership(const std::string& name, Group& group, bool was_running, uint16_t epoch_before);
    void open_epoch(const std::string& name, Group& group);
    void tell(Group& group, uint64_t workers);

    std::unique_ptr<SumMaps> maps_;
    std::function<void()> grace_;
    std::map<std::string, Group> groups_;
    std::vector<uint32_t> unwanted_;      ///< numbers of an earlier daemon's groups
    std::vector<LaterPort> later_ports_;  ///< which these still have
    bool settled_ = false;
    Fd epoll_;
    unsigned ticks_ = 0;
};

}  // namespace pktpit::router
