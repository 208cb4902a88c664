// SPDX-License-Identifier: BSD-3-Clause
/// Filters of a configuration become tables (bpf/filter_layout.h), of which it is told afterwards which
/// interfaces have them. Called where a configuration is prepared, on whichever thread that is, since 10,000
/// rules take tenths of a second; knows nothing of what runs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/filter_layout.h"
#include "config/config.h"

namespace pktpit::router {

/// All filters that interfaces have. Immutable once compiled.
struct CompiledFilters {
    struct One {
        uint32_t at = 0;              ///< offset of its pp_filter
        uint32_t rules = 0;           ///< it has so many counters, and one more for what no rule matches
        std::vector<uint32_t> words;  ///< offsets of all its pp_filter_rule, whose counters begin at 0
    };
    std::map<std::string, One> filters;
    std::vector<uint64_t> nodes;  ///< as many bytes as a power of two
    std::vector<uint64_t> data;   ///< begins with a pp_filter_head that knows no interface
};

/// Which filters are compiled: those that an interface has.
std::set<std::string> filters_in_use(const config::Config& config);

/// Errors, at /filters: they need more memory than there may be.
Result<CompiledFilters> compile_filters(const config::Config& config);

/// Numbers of counters: those of a set, and beside them of the one that it replaces.
inline constexpr uint32_t filter_counter_space = 2 * config::most_filter_counters + 1;

/// Of the tables, at most.
inline constexpr size_t most_filter_bytes = size_t{256} << 20;

}  // namespace pktpit::router
