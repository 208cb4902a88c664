// SPDX-License-Identifier: BSD-3-Clause
/// Tells on stderr how far a run is and how long it will still take. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace pktpit::bench::harness {

class Progress {
  public:
    explicit Progress(size_t steps);
    ~Progress();
    /// What is going on; no step is done.
    void say(const std::string& what) const;
    /// One more step is done; `what` says what it gave.
    void step(const std::string& what);

  private:
    size_t steps_;
    size_t done_ = 0;
    bool terminal_;
    std::chrono::steady_clock::time_point begin_;
};

}  // namespace pktpit::bench::harness
