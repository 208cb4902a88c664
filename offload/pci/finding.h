// SPDX-License-Identifier: BSD-3-Clause
/// Something about a machine that P2P DMA depends on, told so that a person can mend it and a program can
/// tell it apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pktpit::offload {

enum class Severity : uint8_t {
    note,       ///< as it should be, or Pktpit sees to it
    hindrance,  ///< P2P is possible, but slower or less sure than it could be
    blocker,    ///< no P2P like this
};
std::string_view to_string(Severity severity);

struct Finding {
    std::string code;  ///< stable, for programs: "acs_redirect"
    Severity severity = Severity::note;
    std::string where;     ///< PCI address, "IOMMU group 3"
    std::string what;      ///< what is there, with its values
    std::string expected;  ///< what would be better; may be empty
    std::string remedy;    ///< what to do; may be empty
    bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

/// Is one of them a blocker, a hindrance …?
bool any_of(const Findings& findings, Severity severity);

}  // namespace pktpit::offload
