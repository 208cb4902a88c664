// SPDX-License-Identifier: BSD-3-Clause
/// Percentiles of durations. One thread; 4 bytes a duration.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace pktpit::router::cli {

class Latencies {
  public:
    void add(std::chrono::nanoseconds duration) {
        constexpr int64_t most = std::numeric_limits<uint32_t>::max();
        nanoseconds_.push_back(static_cast<uint32_t>(std::clamp<int64_t>(duration.count(), 0, most)));
    }
    [[nodiscard]] size_t count() const { return nanoseconds_.size(); }
    /// In nanoseconds; the smallest that at least so many per mille are not above (nearest rank). 0 if there
    /// are none.
    uint32_t per_mille(unsigned rank) {
        if (nanoseconds_.empty()) return 0;
        const size_t index = (nanoseconds_.size() * rank + 999) / 1000;
        const auto at = nanoseconds_.begin() + static_cast<std::ptrdiff_t>(index ? index - 1 : 0);
        std::nth_element(nanoseconds_.begin(), at, nanoseconds_.end());
        return *at;
    }
    uint32_t max() { return per_mille(1000); }

  private:
    std::vector<uint32_t> nanoseconds_;
};

}  // namespace pktpit::router::cli
