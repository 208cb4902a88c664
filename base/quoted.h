// SPDX-License-Identifier: BSD-3-Clause
/// What a user or a file said, made fit to stand in an error message. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace pktpit {

/// In quotes, cut after 80 bytes; what is not printable ASCII becomes '?', so that neither a terminal nor a
/// JSON answer suffers from it.
std::string quoted(std::string_view text);

}  // namespace pktpit
