// SPDX-License-Identifier: BSD-3-Clause
/// The classes of a filter's source or destination addresses: by longest-prefix match, since a longer prefix
/// has all rules of those around it. Used by what compiles a filter; any thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/address.h"
#include "router/filter/rows.h"

namespace pktpit::router {

struct AddressClasses {
    Rows rows;  ///< row 0: of addresses in no prefix
    std::vector<std::pair<Prefix, uint32_t>> prefixes;

    /// `wanted`: of each rule its prefix; nothing: it takes all addresses.
    explicit AddressClasses(const std::vector<std::optional<Prefix>>& wanted);
};

}  // namespace pktpit::router
