// SPDX-License-Identifier: BSD-3-Clause
/// Whether a request was meant for this machine, by its Host header (RFC 9110 7.2). A page of a foreign site
/// can have its name resolved to this machine's address (DNS rebinding), and its script then reads what the
/// visitor's browser gets from here; but the browser says that name. Plain function; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pktpit::router {

/// An address, with or without a port, needs no name to be resolved; else it has to be localhost or one of
/// `names` (lower case).
bool is_for_us(std::string_view host_header, const std::vector<std::string>& names);

}  // namespace pktpit::router
