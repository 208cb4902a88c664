// SPDX-License-Identifier: BSD-3-Clause
/// Pktpit's own FIB as a peer: the one place that knows its API.
#pragma once

#include <string>
#include <vector>

#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// The settings are the lookup variants that this CPU can run; the last, "auto", is the one
/// that Pktpit picks itself, and what ratios are of.
template <LookupAddress Address>
PeerKind<Address> pktpit_kind();

}  // namespace pktpit::bench::fib
