// SPDX-License-Identifier: BSD-3-Clause
/// Drivers with known faults of XDP or of AF_XDP: one table, each fault with its public source. For `pktpit
/// doctor`; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "router/xdp/kernel_support.h"

namespace pktpit::router {

/// A port's device, as far as faults depend on it.
struct DriverState {
    std::string driver;   ///< "ice"; empty: it does not say
    std::string version;  ///< its own; drivers of the kernel say the kernel's release
    std::string release;  ///< `uname -r`
    unsigned queues = 1;  ///< in use, of those that send; with a native program on, its own among them
    unsigned most_queues = 1;
    unsigned processors = 1;
    unsigned mtu = 1500;
    bool merges = false;  ///< received segments (LRO)
    bool native = false;  ///< a native program is on
    bool splits = false;  ///< the port has AF_XDP sockets: a split or auto port
    bool operator==(const DriverState&) const = default;
};
/// What ethtool says of the device, in this thread's network namespace.
DriverState driver_state(const std::string& device, bool splits);

struct DriverFault {
    std::string_view driver;
    std::string_view what;    ///< as a sentence that begins behind "its driver NAME: "
    std::string_view remedy;  ///< what to do; may be empty
    std::string_view source;  ///< where that is known from
    bool (*applies)(const DriverState& state) = nullptr;
    /// For information: a limit that slows, and stays, or something that one does not do.
    bool note = false;
    KernelVersion first{};   ///< kernels before did not have it; 0.0: not known
    KernelVersion mended{};  ///< the first kernel that does not have it any more; 0.0: none is known
};

/// All that are known of the device's driver and kernel.
std::vector<const DriverFault*> faults_of(const DriverState& state);
/// "its driver ice: …, before Linux 6.11 (source)".
std::string fault_text(const DriverFault& fault);

}  // namespace pktpit::router
