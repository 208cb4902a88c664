// SPDX-License-Identifier: BSD-3-Clause
/// One client's view of the packets that are observed: what it wants, what it has got, what was lost on the
/// way. The daemon's thread; never waits for the client (router/observe/stream.h).
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "router/observe/observation.h"
#include "router/observe/request.h"
#include "router/observe/stream.h"

namespace pktpit::router {

/// What observers ask of the rest of the daemon.
class ObserverEnvironment {
  public:
    virtual ~ObserverEnvironment() = default;
    /// "" if there is no such port (any more).
    [[nodiscard]] virtual std::string port_name(uint16_t port) const = 0;
    /// "inline", "split", "auto".
    [[nodiscard]] virtual std::string_view forwarding(uint16_t port) const = 0;
    /// Records of packets that came in by a port and were lost before they were looked at, ever.
    [[nodiscard]] virtual uint64_t lost(uint16_t port) const = 0;
    /// One packet in so many is looked at now.
    [[nodiscard]] virtual uint32_t one_in() const = 0;
    /// Nanoseconds since 1970 for one of CLOCK_MONOTONIC.
    [[nodiscard]] virtual uint64_t time_of_day(uint64_t monotonic) const = 0;
};

/// What the slow path did with one frame, or when something happened that packets waited for.
struct SlowPathWork {
    struct Sent {
        uint16_t port = 0;
        uint32_t length = 0;
        std::vector<uint8_t> begin;  ///< its first bytes
    };
    std::map<std::string, uint64_t> steps;  ///< counters of the slow path that grew, and by how much
    std::vector<Sent> sent;
};

class Observer {
  public:
    Observer(ObservationRequest request, const ObserverEnvironment& environment);
    virtual ~Observer() = default;

    [[nodiscard]] const ObservationRequest& request() const { return request_; }
    [[nodiscard]] const std::shared_ptr<ObservationStream>& stream() const { return stream_; }
    /// It has all it wanted, or its client has gone. It takes nothing more then.
    [[nodiscard]] bool is_done() const { return done_; }

    void packet(const Observation& seen);
    /// The slow path has had this frame, by which it may be known again: its port, length and first bytes.
    virtual void slow_path(uint16_t, uint32_t, std::span<const uint8_t>, const SlowPathWork&) {}
    /// What packets had waited for has happened; `event` in words.
    virtual void slow_path_later(const std::string&, const SlowPathWork&) {}
    /// Every 100 ms. Ends what is to end.
    virtual void tick(std::chrono::steady_clock::time_point now);
    /// With the last words, to the client.
    void end();

  protected:
    [[nodiscard]] bool wants(std::span<const uint8_t> frame, uint32_t length) const {
        return !request_.filter || request_.filter->matches(frame, length);
    }
    /// Hands on what one packet has become; counts it, or its loss.
    void deliver(uint16_t port, std::string_view bytes);
    [[nodiscard]] bool has_enough(uint64_t more = 0) const {
        return request_.count && delivered_ + more >= *request_.count;
    }
    /// Lost on the way here or to the client, by ingress port.
    [[nodiscard]] uint64_t lost(uint16_t port) const;
    [[nodiscard]] uint64_t delivered() const { return delivered_; }
    [[nodiscard]] const ObserverEnvironment& environment() const { return environment_; }

    virtual void show(const Observation& seen) = 0;
    [[nodiscard]] virtual std::string last_words() const = 0;
    /// Nothing is held back for later any more.
    [[nodiscard]] virtual bool is_empty() const { return true; }
    void end_if_enough();

  private:
    [[nodiscard]] bool is_sampled();

    ObservationRequest request_;
    const ObserverEnvironment& environment_;
    std::shared_ptr<ObservationStream> stream_ = std::make_shared<ObservationStream>();
    std::optional<std::chrono::steady_clock::time_point> deadline_;
    std::array<uint64_t, PP_MAX_PORTS> lost_before_{};
    std::array<uint64_t, PP_MAX_PORTS> not_taken_{};  ///< by the client
    std::minstd_rand random_;
    uint64_t delivered_ = 0;
    bool done_ = false;
};

}  // namespace pktpit::router
