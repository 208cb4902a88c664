// SPDX-License-Identifier: BSD-3-Clause
/// A configuration on its way from a file to being applied: read, parsed and checked, and the routes files
/// that it names read, too. Called before the daemon starts, and by Reloads on a thread of its own, since all
/// of it can take long. Knows nothing of what runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "router/api/control.h"
#include "router/control/static_routes.h"

namespace pktpit::router {

struct Prepared {
    std::string file;
    config::Config config;
    WantedRoutes routes;
    std::string text{};                   ///< of the file
    std::optional<uint32_t> confirm_s{};  ///< it goes back unless it is confirmed within so many seconds
    bool by_signal = false;
};

/// Of each error the line of the text that it is about; 0: none.
std::vector<size_t> lines_of(const config::Errors& errors, std::string_view text);

/// As it is told: the first 20, and how many more there are.
config::Errors shortened(config::Errors errors);

/// At the start, where whoever starts the daemon names the file.
tl::expected<Prepared, config::Errors> prepare(const std::string& file);

/// Where a reload may take its file from.
struct ReloadRules {
    std::string last_file;             ///< without a path in the order
    std::vector<std::string> folders;  ///< with one: these, and those below them
};
/// At a reload. Whoever may not read the file is told how many errors it has, and no more: not what is in it.
/// All of them are in `for_log` then.
struct PrepareRefusal {
    ReloadRefusal refusal;
    config::Errors for_log;
    std::vector<size_t> for_log_lines{};  ///< of each, as lines_of()
};
tl::expected<Prepared, PrepareRefusal> prepare(const ReloadOrder& order, const ReloadRules& rules);
/// One that was applied before: its text, as if it stood in the file of that name.
tl::expected<Prepared, PrepareRefusal> prepare_saved(const std::string& file, const std::string& text);

}  // namespace pktpit::router
