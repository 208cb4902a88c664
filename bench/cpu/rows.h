// SPDX-License-Identifier: BSD-3-Clause
/// The rows of the CPU benchmark: programs that forward from memory (net_pcap, which repeats its frames) to
/// nowhere (net_null), one lcore each.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/workload.h"

namespace pktpit::bench::cpu {

/// A running row. It stands still but between wake() and rest().
class CpuRow {
  public:
    virtual ~CpuRow() = default;
    virtual void wake() = 0;
    virtual void rest() = 0;
    /// Frames forwarded so far.
    virtual uint64_t forwarded() = 0;
    /// The process whose one busy thread forwards.
    [[nodiscard]] virtual pid_t process() const = 0;
    [[nodiscard]] virtual std::string command() const = 0;
    [[nodiscard]] virtual std::string patch() const = 0;
};

struct CpuRowKind {
    std::string option;  ///< on the command line
    std::string name;
    std::string description;
    size_t hugepage_bytes = 0;
    bool may_refuse = false;  ///< that it does not run is a result, not a failure
    bool in_all = true;       ///< measured unless rows are named
    std::function<std::unique_ptr<CpuRow>(const harness::Workload&)> start;  ///< throws Failure
};

/// net_pcap's own address: "\x02pcap" and its number.
inline constexpr MacAddress pcap_mac{{0x02, 0x70, 0x63, 0x61, 0x70, 0x00}};
struct CaptureShape;
struct CpuSettings;
/// Of the frames that every row gets.
CaptureShape capture_shape(const CpuSettings& settings);
/// Destinations that a capture has frames for: one each.
std::span<const IpAddress> cpu_frames(const harness::Workload& workload);

struct CpuSettings {
    std::string pktpitd;  ///< the daemon for Pktpit's row
    unsigned core = 1;    ///< which forwards
    unsigned frame_bytes = 64;
    unsigned trailers_percent = 0;  ///< CaptureShape's
    unsigned groups = 0;  ///< Pktpit's routes over so many groups of four next hops; 0: one next hop for all
};
/// All of them.
std::vector<CpuRowKind> cpu_rows(const CpuSettings& settings);

}  // namespace pktpit::bench::cpu
