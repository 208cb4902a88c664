// SPDX-License-Identifier: BSD-3-Clause
/// Settings of one network device that rtnetlink does not have: GRO, NAPI threads, per-namespace sysctls. The
/// calling thread must be in the device's namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pktpit::bench::harness {

uint32_t interface_index(const std::string& device);
void enable_gro(const std::string& device);
/// Moves the device's NAPI polling from softirqs into kernel threads (or back), and pins those to a CPU.
/// NAPI must exist: the device is up, with XDP or GRO.
void set_threaded_napi(const std::string& device, bool threaded, unsigned cpu);
/// "net/ipv4/ip_forward", "1". A file that this kernel lacks is an error.
void set_sysctl(std::string_view path, std::string_view value);
/// A counter of `ethtool -S`; 0 if the device has none of that name.
uint64_t device_statistic(const std::string& device, std::string_view name);

/// Where and how the benchmark's threads run: real-time, so that whatever else the machine does cannot take
/// the cores from one forwarder and not from another.
struct Schedule {
    static constexpr int router = 1;     ///< a router's process, which may poll without end
    static constexpr int traffic = 2;    ///< generator, NAPI threads
    static constexpr int measuring = 3;  ///< must be able to read counters while traffic has all cores
};
/// 0: the calling thread. False: it has ended.
bool schedule_thread(pid_t thread, std::optional<unsigned> cpu, int priority);
/// The threads of a process whose names begin so ("": all) become real-time, on a CPU if one is given.
/// Returns how many there are: one that ends meanwhile does not count.
size_t schedule_threads(pid_t process, std::string_view name, std::optional<unsigned> cpu, int priority);

/// The calling thread is real-time as long as this lives.
class RealTime {
  public:
    explicit RealTime(int priority);
    ~RealTime();
    RealTime(const RealTime&) = delete;
    RealTime& operator=(const RealTime&) = delete;
};

}  // namespace pktpit::bench::harness
