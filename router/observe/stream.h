// SPDX-License-Identifier: BSD-3-Clause
/// What an observation yields, on its way from the daemon's thread to the thread that answers a client. Never
/// holds more than its bound: the daemon never waits for a client, it counts what does not fit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace pktpit::router {

class ObservationStream {
  public:
    explicit ObservationStream(size_t bound = size_t{8} << 20) : bound_(bound) {}

    // The daemon's.
    /// False: no room; nothing was taken.
    bool push(std::string_view bytes);
    /// The last words, for which there is always room.
    void end(std::string_view bytes = {});
    /// The client wants no more: end() it.
    [[nodiscard]] bool is_ended_by_client() const { return ended_by_client_; }

    // The client's thread.
    /// What has come, at once or within `patience`; empty: nothing has. nullopt: that was all.
    std::optional<std::string> take(std::chrono::milliseconds patience);
    void end_by_client() { ended_by_client_ = true; }

  private:
    const size_t bound_;
    std::mutex mutex_;  ///< of the three below
    std::condition_variable changed_;
    std::string bytes_;
    bool ended_ = false;
    std::atomic<bool> ended_by_client_ = false;
};

}  // namespace pktpit::router
