// SPDX-License-Identifier: BSD-3-Clause
/// Changes of the kernel's routes that are carried out aside: each waits for the kernel's networking lock,
/// which a full table that goes holds for tenths of a second at a time.
///
/// carry_out() is called on another thread (or on this one), all else on the one that made the batch.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "router/control/vrf_prefix.h"
#include "router/kernel/route_writer.h"

namespace pktpit::router {

class RouteBatch {
  public:
    static constexpr size_t most = 512;  ///< changes

    struct Change {
        VrfPrefix place;
        uint32_t table = 0;   ///< the kernel's, of the VRF
        bool remove = false;  ///< what is there of ours, first
        bool former = false;  ///< and what an earlier version has left, last: there is one all the time
        std::optional<HostRoute> add;
        bool forced = false;  ///< whatever was known of what is there

        bool begun = false;
        bool done = false;
        // Valid when done:
        Result<void> removed{};
        Result<void> added{};
        std::optional<uint8_t> behind{};  ///< protocol of a route of somebody else that goes before
    };

    /// `writer` is used by carry_out() alone.
    explicit RouteBatch(RouteWriter& writer) : writer_(writer) {}

    /// In the order of their places.
    void put(Change change) { changes_.push_back(std::move(change)); }
    [[nodiscard]] bool full() const { return changes_.size() >= most; }
    [[nodiscard]] bool empty() const { return changes_.empty(); }
    [[nodiscard]] bool concerns(const VrfPrefix& place) const;

    /// All changes, one after the other; once.
    void carry_out();
    /// No change begins any more; one under way is waited for. Then, and when carry_out() has returned,
    /// changes() tells what is done.
    void end();
    [[nodiscard]] std::span<Change> changes() { return changes_; }

  private:
    bool begin_change();
    void end_change();

    RouteWriter& writer_;
    std::vector<Change> changes_;  ///< which they are is not changed after carry_out() began
    std::mutex mutex_;             ///< of the two below
    std::condition_variable idle_;
    bool ended_ = false;
    bool working_ = false;
};

}  // namespace pktpit::router
