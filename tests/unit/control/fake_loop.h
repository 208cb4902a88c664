// SPDX-License-Identifier: BSD-3-Clause
/// An event loop whose every descriptor is readable at each turn, and that turns when it is told to.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "router/control/descriptor_watcher.h"

namespace pktpit::router::fake {

class Loop : public DescriptorWatcher {
  public:
    void watch(int descriptor, std::function<void()> readable) override {
        callbacks_[descriptor] = std::move(readable);
    }
    void unwatch(int descriptor) override { callbacks_.erase(descriptor); }
    void after_others(std::function<void()> turn) override { turns_.push_back(std::move(turn)); }

    /// All that is readable, and then the turns that were asked for.
    void once() {
        for (const auto& [descriptor, callback] : std::map(callbacks_))
            callback();
        for (const auto& turn : std::exchange(turns_, {}))
            turn();
    }
    /// Until no turn is asked for any more; how often it has turned.
    unsigned settle() {
        unsigned count = 0;
        do {
            once();
            ++count;
        } while (has_turns());
        return count;
    }
    [[nodiscard]] bool has_turns() const { return !turns_.empty(); }
    [[nodiscard]] size_t size() const { return callbacks_.size(); }

  private:
    std::map<int, std::function<void()>> callbacks_;
    std::vector<std::function<void()>> turns_;
};

/// Work aside is done when it is told to.
class PatientLoop : public Loop {
  public:
    void aside(const std::function<void()>& work, const std::function<void()>& then) override {
        work_.push_back(work);
        then_.push_back(then);
    }
    void work() {
        for (const auto& work : std::exchange(work_, {}))
            work();
    }
    void tell() {
        for (const auto& then : std::exchange(then_, {}))
            then();
    }
    [[nodiscard]] size_t waiting() const { return work_.size(); }

  private:
    std::vector<std::function<void()>> work_, then_;
};

}  // namespace pktpit::router::fake
