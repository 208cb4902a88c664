// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/realtime_limit.h"

#include <fstream>

namespace pktpit::bench::harness {
namespace {

constexpr int64_t none = -1;

}  // namespace

NoRealtimeLimit::NoRealtimeLimit(const std::string& file)
    : limit_(
          [&] {
              int64_t before = none;
              if (!(std::ifstream(file) >> before)) return none;
              if (before != none) std::ofstream(file) << none << std::flush;
              return before;
          },
          [&](int64_t before) {
              if (before != none) std::ofstream(file) << before << std::flush;
          }) {}

}  // namespace pktpit::bench::harness
