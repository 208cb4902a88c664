// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/finding.h"

#include <algorithm>

namespace pktpit::offload {

std::string_view to_string(Severity severity) {
    switch (severity) {
        case Severity::note:
            return "note";
        case Severity::hindrance:
            return "hindrance";
        case Severity::blocker:
            return "blocker";
    }
    return "unknown";
}

bool any_of(const Findings& findings, Severity severity) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.severity == severity; });
}

}  // namespace pktpit::offload
