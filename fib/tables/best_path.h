// SPDX-License-Identifier: BSD-3-Clause
/// Which of a prefix's entries in a table dump is the route. Pure, any thread.
///
/// A simplification of RFC 4271 section 9.1: the router that wrote the dump knew more than the dump does (its
/// policy, IGP costs, which sessions are internal). The rule here is deterministic, and does not depend on
/// the order of the entries:
///   1. highest LOCAL_PREF, 100 where absent
///   2. shortest AS_PATH
///   3. lowest ORIGIN
///   4. lowest MED among those of the same neighbour AS, 0 where absent
///   5. lowest peer index, then lowest path identifier
#pragma once

#include <span>

#include "base/address.h"

namespace pktpit::fib {

struct PathCandidate {
    uint32_t local_pref = 100;
    uint32_t as_path_length = 0;
    uint8_t origin = 2;
    uint32_t neighbour_as = 0;
    uint32_t med = 0;
    uint32_t peer = 0;
    uint32_t path_id = 0;
    IpAddress next_hop;
};

/// Of at least one; reorders them.
const PathCandidate& best_path(std::span<PathCandidate> candidates);

}  // namespace pktpit::fib
