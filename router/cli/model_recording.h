// SPDX-License-Identifier: BSD-3-Clause
/// A pcap file as traffic of `pktpit model`. Read by libpcap; at most as many frames as are asked for.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "offload/model/recording.h"

namespace pktpit::router::cli {

inline constexpr size_t most_recorded_frames = 4'000'000;

/// Errors: the file cannot be read, is no pcap file, is cut off, has no Ethernet frames or none at all.
Result<std::shared_ptr<const model::Recording>> read_recording(const std::string& path);

}  // namespace pktpit::router::cli
