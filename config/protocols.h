// SPDX-License-Identifier: BSD-3-Clause
/// Names and numbers of the kernel's routing protocols, as in rt_protos (RTPROT_* of linux/rtnetlink.h).
/// Called by the checks here and by whoever filters kernel routes. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pktpit::config {

/// "bird" → 12, "200" → 200; nothing for an unknown name or a number above 255.
std::optional<uint8_t> protocol_number(std::string_view name);

/// 12 → "bird"; the number itself where it has no name.
std::string protocol_name(uint8_t number);

std::vector<std::string> protocol_names();

}  // namespace pktpit::config
