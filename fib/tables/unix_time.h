// SPDX-License-Identifier: BSD-3-Clause
/// Points in time as update files write them: seconds since 1970 (UTC), a fraction of up to six digits
/// allowed. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pktpit::fib {

inline constexpr const char* unix_time_form = "seconds since 1970, such as 1470009600 or 1470009600.25";

std::optional<uint64_t> parse_unix_time(std::string_view text);  ///< in microseconds
std::string unix_time_text(uint64_t microseconds);               ///< "1470009600", "1470009600.25"

}  // namespace pktpit::fib
