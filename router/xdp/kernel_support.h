// SPDX-License-Identifier: BSD-3-Clause
/// What the xdp dataplane needs of a kernel, and what it makes use of where it is there: a table, and whether
/// each part is here. `pktpit doctor` and a daemon that starts ask it. The kernel is asked itself wherever
/// that can be done, since distributions take features into older versions, and leave out options.
///
/// Any thread. Nothing is changed: no program is attached, no module is loaded. All parts together take some
/// tens of milliseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace pktpit::router {

enum class Presence : uint8_t {
    there,
    missing,
    unknown,  ///< whoever asks may not, or there is nothing to try it with
};
std::string_view to_string(Presence presence);

enum class PartKind : uint8_t {
    need,      ///< without it the dataplane does not start
    fallback,  ///< without it something else happens
};

/// Which configurations ask for a part.
enum class Demand : uint8_t { all, split_ports, vlans, vrfs };
std::string_view to_string(Demand demand);

struct ProbeResult {
    Presence presence = Presence::unknown;
    std::string detail{};  ///< why it is not there, or not known; may be empty
};

struct KernelPart {
    std::string_view name;  ///< stable, for programs: "xdp_frags"
    PartKind kind = PartKind::need;
    std::string_view what;     ///< for people, without an article
    std::string_view since;    ///< the first Linux version that has it: "5.18"; empty: no matter of versions
    std::string_view instead;  ///< what happens without it; empty for needs
    std::string_view remedy;   ///< what to do; may be empty
    ProbeResult (*probe)() = nullptr;
    Demand demand = Demand::all;
    /// Without it packets are lost or much slower, or something that is configured does not work.
    bool warns = false;
    /// The port that misses it says so in the log.
    bool told_by_ports = false;
};

/// Needs first.
std::span<const KernelPart> kernel_parts();

struct KernelSupport {
    struct Part {
        const KernelPart* part = nullptr;
        ProbeResult result;
    };
    std::string release;      ///< as `uname -r` says: "6.1.0-56-amd64"
    std::vector<Part> parts;  ///< as in kernel_parts()
};

/// Is it a matter of the configuration whether the part is there?
bool asks_for(const config::Config& config, const KernelPart& part);
/// Fallbacks that are in force: missing parts that the configuration asks for.
std::vector<KernelSupport::Part> fallbacks_of(const KernelSupport& support, const config::Config& config);

using AskKernel = std::function<ProbeResult(const KernelPart&)>;
/// `ask` says of each part whether it is here.
KernelSupport kernel_support(std::string release, const AskKernel& ask);
/// Asks this kernel, with the rights of this thread; of the parts of one kind alone, where one is named.
KernelSupport kernel_support(std::optional<PartKind> only = std::nullopt);

/// "this kernel, Linux 5.10.0, lacks …" of the needs alone, with what to do; empty: none is known to be
/// missing. Of capabilities those that this thread lacks.
std::string missing_needs(const KernelSupport& support);
/// Asks the kernel first. For the message of a start that was refused.
std::string missing_needs();

/// Of a fallback that is missing, what a log says: "Linux 6.1.0 has no … (since 6.3): …".
std::string missing_line(const KernelSupport& support, const KernelPart& part);

/// Major and minor of "6.1.0-56-amd64"; 0.0 where there is none.
struct KernelVersion {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const KernelVersion&) const = default;
};
KernelVersion kernel_version(std::string_view release);

}  // namespace pktpit::router
