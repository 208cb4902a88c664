// SPDX-License-Identifier: BSD-3-Clause
/// All observers of packets together: what they want of the dataplane in sum, and what comes back to each.
/// Without any, the dataplane observes nothing. The daemon's thread.
#pragma once

#include <memory>
#include <vector>

#include "router/control/ports.h"
#include "router/daemon/observer.h"
#include "router/daemon/slow_path_environment.h"
#include "router/dataplane/dataplane.h"
#include "router/routing/routing.h"
#include "router/sflow/exporter.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router {

class Observations : public ObserverEnvironment {
  public:
    static constexpr size_t most = 4;

    Observations(Dataplane& dataplane, const Routing& routing, const Ports& ports, SlowPath& slow_path,
                 DaemonEnvironment& environment);
    ~Observations() override;

    /// Errors: too many, no such port, or the dataplane cannot.
    Result<std::shared_ptr<ObservationStream>> begin(const ObservationRequest& request);
    void tick();
    /// Packets of ports that `sampler` wants are observed from now on, whether or not a client does; none of
    /// a sampler that wants none. Errors: the dataplane cannot; all goes on as before. `sampler` outlives
    /// this.
    Result<void> sample(SflowExporter& sampler);
    /// Ports have come or gone.
    void ports_changed();

    /// The slow path's work on one frame, told to traces.
    void handle(const pp_punt& punt, std::span<uint8_t> frame);
    /// Work of the slow path that `event` (in words) brings about.
    void follow(const std::string& event, const std::function<void()>& work);

    [[nodiscard]] std::string port_name(uint16_t port) const override;
    [[nodiscard]] std::string_view forwarding(uint16_t port) const override {
        return dataplane_.forwarding(port);
    }
    [[nodiscard]] uint64_t lost(uint16_t port) const override;
    [[nodiscard]] uint32_t one_in() const override { return one_in_; }
    [[nodiscard]] uint64_t time_of_day(uint64_t monotonic) const override {
        return monotonic + clock_offset_;
    }

  private:
    [[nodiscard]] bool is_tracing() const;
    [[nodiscard]] bool is_sampling() const;
    /// Anybody, client or sampler?
    [[nodiscard]] bool is_observing() const { return !observers_.empty() || is_sampling(); }
    [[nodiscard]] uint32_t least_one_in() const;
    [[nodiscard]] pp_observing wanted() const;
    Result<void> update();
    void record(std::span<const uint8_t> bytes);
    SlowPathWork watch(const std::function<void()>& work);

    Dataplane& dataplane_;
    const Routing& routing_;
    const Ports& ports_;
    SlowPath& slow_path_;
    DaemonEnvironment& environment_;
    std::vector<std::unique_ptr<Observer>> observers_;
    SflowExporter* sampler_ = nullptr;  ///< null: none so far
    bool asked_ = false;                ///< the dataplane, to observe
    uint32_t one_in_ = 1;
    uint64_t clock_offset_ = 0;
    uint64_t malformed_ = 0;
};

}  // namespace pktpit::router
