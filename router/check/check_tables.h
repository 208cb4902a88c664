// SPDX-License-Identifier: BSD-3-Clause
/// The routes files of a configuration, read to their ends. Internal to router/check/.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace pktpit::router::check {

struct TableSummary {
    std::string path;
    size_t ipv4_routes = 0;
    size_t ipv6_routes = 0;
    size_t repeated = 0;  ///< lines whose prefix an earlier line of the file has
    size_t ids = 0;       ///< different next-hop ids
};

struct TableCheck {
    std::vector<TableSummary> tables;
    config::Errors in_files;          ///< `where` is "path:line"
    config::Errors in_configuration;  ///< `where` is a JSON pointer
};

/// Reads every file: lines that are none, ids without next hops, next hops of the wrong family, and whether
/// the FIB of this configuration can hold it all. At most 20 errors a file, and one that counts the rest.
TableCheck check_tables(const config::Config& config);

}  // namespace pktpit::router::check
