// SPDX-License-Identifier: BSD-3-Clause
/// The block of bpf/guard_layout.h and its writer. The memory is the caller's, an mmapped BPF map or a piece
/// of the heap; readers are in it all the time. One thread writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/guard_layout.h"
#include "config/guard.h"

namespace pktpit::router {

/// What is to be in force: of which interface what, and what goes to the host.
struct GuardSet {
    struct Interface {
        uint16_t id = 0;
        uint16_t port = 0;  ///< that carries it
        config::Rpf rpf = config::Rpf::off;
        std::optional<config::Rate> police_in{};
        uint16_t bucket = 0;  ///< of its rate; number_buckets() chooses it
        bool operator==(const Interface&) const = default;
    };
    std::vector<Interface> interfaces;  ///< that are guarded
    config::HostPolice host;

    [[nodiscard]] bool any() const { return !interfaces.empty() || host.any(); }
    /// What packets can meet that come in by the port: PP_GUARD_RPF and so on.
    [[nodiscard]] uint32_t of_port(uint16_t port) const;
    bool operator==(const GuardSet&) const = default;
};

/// Gives each policed interface of `next` the bucket that it has in `running`, or one that is free. Errors:
/// there are too many.
Result<void> number_buckets(GuardSet& next, const GuardSet& running);

/// Brings the block from `running` to `next`. Buckets whose rates stay go on from where they are.
void write_guard(pp_guard& block, const GuardSet& running, const GuardSet& next);

/// A bucket's constants: `rate` units a second, of which `burst` can come at once. All else is 0.
pp_bucket bucket_for(double rate, uint64_t burst);

}  // namespace pktpit::router
