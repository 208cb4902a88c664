// SPDX-License-Identifier: BSD-3-Clause
/// A trace: one JSON object a line for each packet, with every step that it took (docs/api.md). A packet that
/// goes on to the slow path is held back until that has told what it did. The daemon's thread.
#pragma once

#include <nlohmann/json.hpp>

#include <deque>

#include "router/daemon/observer.h"
#include "router/routing/routing.h"

namespace pktpit::router {

class TraceObserver : public Observer {
  public:
    TraceObserver(ObservationRequest request, const ObserverEnvironment& environment, const Routing& routing)
        : Observer(std::move(request), environment), routing_(routing) {}

    void slow_path(uint16_t port, uint32_t length, std::span<const uint8_t> begin,
                   const SlowPathWork& work) override;
    void slow_path_later(const std::string& event, const SlowPathWork& work) override;
    void tick(std::chrono::steady_clock::time_point now) override;

  private:
    using Time = std::chrono::steady_clock::time_point;
    /// By what the slow path's frame and the record of the same packet are brought together.
    struct Half {
        std::string key;
        uint16_t port = 0;
        nlohmann::json json;
        Time since;
    };
    void show(const Observation& seen) override;
    [[nodiscard]] std::string last_words() const override;
    [[nodiscard]] bool is_empty() const override { return punted_.empty(); }
    void print(uint16_t port, nlohmann::json& packet);

    const Routing& routing_;
    std::deque<Half> punted_;   ///< packets whose slow path has not been heard of
    std::deque<Half> handled_;  ///< what the slow path did with packets that have not been heard of
};

}  // namespace pktpit::router
