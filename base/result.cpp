// SPDX-License-Identifier: BSD-3-Clause
#include "base/result.h"

namespace pktpit {

std::string Error::to_string() const {
    std::string text;
    if (!where.empty()) text = where + ": ";
    text += message;
    if (expected.empty() && hint.empty()) return text;
    text += " (";
    if (!expected.empty()) text += "expected " + expected;
    if (!expected.empty() && !hint.empty()) text += "; ";
    return text + hint + ")";
}

}  // namespace pktpit
