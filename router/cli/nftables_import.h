// SPDX-License-Identifier: BSD-3-Clause
/// nftables' rules of the forward hook as filters of a configuration, as far as these can say the same; all
/// else is listed. Reads what `nft -j list ruleset` prints (libnftables-json(5)). Any thread; text in, values
/// out.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router::cli {

struct ImportedFilters {
    std::unique_ptr<nlohmann::json> filters;  ///< as /filters of a configuration; valid there
    std::vector<std::string> left;            ///< what is not in them, each with why
    std::vector<std::string> notes;           ///< what is in them, but not quite the same
};

/// Errors: it is no such list.
Result<ImportedFilters> import_nftables(const std::string& text);

}  // namespace pktpit::router::cli
