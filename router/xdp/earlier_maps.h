// SPDX-License-Identifier: BSD-3-Clause
/// What an earlier daemon has counted, and which ids its ports had: the maps that it left pinned, adopted
/// only if they are of this version (PP_ABI_VERSION) and all there. Called by the dataplane, once before it
/// makes its own maps and once when it commits; its thread. Never touches links: whatever version a port's
/// program is of, it forwards until it is swapped.
///
/// The version is part of a pin's name ("v2_counters"): a map is never seen without it, and daemons from
/// before there was one, which compare nothing, do not find these maps. Pins of another version beside those
/// of this one mean that another daemon has run since, or that one died while it pinned: which of the two
/// counted last cannot be told, so neither is adopted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "router/xdp/maps.h"
#include "router/xdp/pins.h"

namespace pktpit::router {

struct EarlierMaps {
    EarlierCounts counts;
    std::map<uint32_t, uint16_t> ports;  ///< id by ifindex
};

/// Ids of the ports in a pinned FIB image, by ifindex; nothing: it is none of this layout.
std::optional<std::map<uint32_t, uint16_t>> ports_of_image(const Fd& image);

/// All or nothing; where something is pinned that does not fit, the log says what was found and expected.
EarlierMaps adopt_maps(const PinDirectory& pins);

/// Pins these maps by this version, and removes the pins of maps of every other. An Error leaves the pins as
/// they were.
Result<void> pin_maps(const PinDirectory& pins, const PortMaps& maps);

}  // namespace pktpit::router
