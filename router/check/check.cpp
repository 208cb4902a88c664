// SPDX-License-Identifier: BSD-3-Clause
#include "router/check/check.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "config/read_file.h"
#include "config/syntax.h"
#include "config/warnings.h"
#include "router/check/check_tables.h"

namespace pktpit::router::check {
namespace {

using nlohmann::json;

struct PlacedError {
    Error error;
    size_t line = 0;         ///< of the configuration file; 0: unknown
    bool elsewhere = false;  ///< `where` names another file
};

/// 1234567 → "1,234,567"
std::string grouped(size_t number) {
    std::string text = std::to_string(number);
    for (size_t at = text.size(); at > 3;)
        text.insert(at -= 3, ",");
    return text;
}

std::string counted(size_t number, const char* one, const char* several) {
    return grouped(number) + " " + (number == 1 ? one : several);
}

std::vector<PlacedError> placed(config::Errors errors, const std::string& path) {
    const config::LineIndex lines(config::read_file(path).value_or(""));
    std::vector<PlacedError> out;
    for (Error& error : errors) {
        bool elsewhere = error.where == path;
        bool broken = error.where.starts_with("line ");
        out.push_back({std::move(error), 0, elsewhere});
        if (!elsewhere && !broken) out.back().line = lines.line_of(out.back().error.where);
    }
    std::ranges::stable_sort(out, {}, &PlacedError::line);
    return out;
}

std::string lines_for_people(const std::string& path, const std::vector<PlacedError>& errors,
                             const char* kind) {
    std::string out;
    for (const auto& [error, line, elsewhere] : errors) {
        if (!elsewhere) out += path + (line ? ":" + std::to_string(line) : "") + ": ";
        out += error.where + "\n    " + kind + error.message + "\n";
        if (!error.expected.empty()) out += "    expected: " + error.expected + "\n";
        if (!error.hint.empty()) out += "    hint: " + error.hint + "\n";
    }
    return out;
}

std::string for_people(const std::string& path, const std::vector<PlacedError>& errors) {
    return lines_for_people(path, errors, "") + path + ": " + counted(errors.size(), "error", "errors") +
           "\n";
}

json for_machines(const std::vector<PlacedError>& errors) {
    json out = json::array();
    for (const auto& [error, line, elsewhere] : errors)
        out.push_back({{"line", line ? json(line) : json(nullptr)},
                       {"where", error.where},
                       {"message", error.message},
                       {"expected", error.expected},
                       {"hint", error.hint}});
    return out;
}

std::string summary_text(const std::string& path, const config::Config& config,
                         const std::vector<TableSummary>& tables) {
    size_t vlans = static_cast<size_t>(std::ranges::count_if(
        config.interfaces, [](const auto& one) { return one.second.parent.has_value(); }));
    std::string out = path + ": valid\n";
    out += "    " + counted(config.interfaces.size() - vlans, "port", "ports") + ", " +
           counted(vlans, "VLAN interface", "VLAN interfaces") + ", " +
           counted(config.routes.size(), "static route", "static routes") + ", " +
           counted(config.neighbours.size(), "static neighbour", "static neighbours") + "\n";
    for (const TableSummary& table : tables) {
        out += "    " + table.path + ": " + counted(table.ipv4_routes, "IPv4 route", "IPv4 routes") + ", " +
               counted(table.ipv6_routes, "IPv6 route", "IPv6 routes") + ", " +
               counted(table.ids, "next-hop id", "next-hop ids") + "\n";
        if (table.repeated)
            out += "        " + counted(table.repeated, "prefix is", "prefixes are") +
                   " there more than once: the first line counts\n";
    }
    return out;
}

json tables_json(const std::vector<TableSummary>& tables) {
    json out = json::array();
    for (const TableSummary& table : tables)
        out.push_back({{"path", table.path},
                       {"ipv4_routes", table.ipv4_routes},
                       {"ipv6_routes", table.ipv6_routes},
                       {"repeated", table.repeated},
                       {"next_hop_ids", table.ids}});
    return out;
}

}  // namespace

CheckReport check_file(const std::string& path, const config::InterfaceExists& interface_exists,
                       const WarningsOfMachine& of_machine) {
    auto config = config::load(path, interface_exists);
    TableCheck tables;
    std::vector<PlacedError> errors;
    std::vector<PlacedError> warnings;
    if (config) {
        config::Errors found = config::warnings_of(*config);
        if (of_machine) std::ranges::move(of_machine(*config), std::back_inserter(found));
        warnings = placed(std::move(found), path);
        tables = check_tables(*config);
        errors = placed(std::move(tables.in_configuration), path);
        for (Error& error : tables.in_files)
            errors.push_back({std::move(error), 0, true});
    } else {
        errors = placed(std::move(config.error()), path);
    }

    json out = {{"file", path}, {"valid", errors.empty()}, {"errors", for_machines(errors)}};
    out["warnings"] = for_machines(warnings);
    if (config) out["routes_files"] = tables_json(tables.tables);
    CheckReport report;
    report.text = lines_for_people(path, warnings, "warning: ");
    report.text += errors.empty() ? summary_text(path, *config, tables.tables) : for_people(path, errors);
    report.json = out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    report.exit_status = errors.empty() ? 0 : 1;
    return report;
}

}  // namespace pktpit::router::check
