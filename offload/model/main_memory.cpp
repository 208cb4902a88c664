// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/main_memory.h"

#include <algorithm>

namespace pktpit::model {
namespace {

constexpr uint64_t line = 64;

uint64_t lines_touched(uint64_t address, uint32_t bytes) {
    return bytes == 0 ? 0 : (address + bytes - 1) / line - address / line + 1;
}

uint64_t lines_in_part(uint64_t address, uint32_t bytes) {
    const bool starts_within = address % line != 0;
    const bool ends_within = (address + bytes) % line != 0;
    if (lines_touched(address, bytes) == 1) return starts_within || ends_within;
    return uint64_t{starts_within} + ends_within;
}

double line_ps(double bytes_per_ns, double taken) {
    return line * 1000.0 / bytes_per_ns / (1 - std::clamp(taken, 0.0, 0.99));
}

}  // namespace

MainMemory::MainMemory(const MemorySettings& settings)
    : settings_(settings),
      bytes_(settings.bytes),
      write_line_ps_(
          line_ps(settings.write_bytes_per_ns, settings.write_load * settings.write_by_write_load +
                                                   settings.read_load * settings.write_by_read_load)),
      read_line_ps_(
          line_ps(settings.read_bytes_per_ns, settings.write_load * settings.read_by_write_load +
                                                  settings.read_load * settings.read_by_read_load)) {}

Time MainMemory::write(Time now, uint64_t address, uint32_t bytes) {
    bytes_written_ += bytes;
    const double lines =
        static_cast<double>(lines_touched(address, bytes)) +
        (settings_.partial_line_cost - 1) * static_cast<double>(lines_in_part(address, bytes));
    write_free_ = std::max(write_free_, now) + static_cast<Time>(lines * write_line_ps_);
    return write_free_ + settings_.write_latency;
}

Time MainMemory::read(Time now, uint64_t address, uint32_t bytes) {
    bytes_read_ += bytes;
    const auto lines = static_cast<double>(lines_touched(address, bytes));
    read_free_ = std::max(read_free_, now) + static_cast<Time>(lines * read_line_ps_);
    return read_free_ + settings_.read_latency;
}

}  // namespace pktpit::model
