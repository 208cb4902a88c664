// SPDX-License-Identifier: BSD-3-Clause
/// Words for an errno. Any thread.
#pragma once

#include <string>
#include <system_error>

namespace pktpit {

inline std::string errno_text(int error) {
    return std::system_category().message(error);
}

}  // namespace pktpit
