// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <fstream>

#include "bench/fib/report.h"
#include "bench/fib/targets.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

using nlohmann::json;

json to_json(const Panel& panel) {
    json cells = json::array();
    for (const std::string& row : panel.rows) {
        for (const std::string& column : panel.columns) {
            const Cell* cell = panel.find(row, column);
            if (!cell) continue;
            json one{
                {"row", row}, {"column", column}, {"median", cell->median()}, {"samples", cell->samples}};
            if (!cell->setting.empty()) one["setting"] = cell->setting;
            if (!cell->more.empty()) one["more"] = cell->more;
            if (column != panel.subject) one["subject_is_times_better"] = ratio(panel, row, column).median;
            if (const RatioTarget* target = find_target(row, column)) one["target"] = target->factor;
            cells.push_back(std::move(one));
        }
    }
    return {{"title", panel.title},     {"unit", panel.unit}, {"lower_is_better", panel.lower_is_better},
            {"subject", panel.subject}, {"cells", cells},     {"notes", panel.notes}};
}

json to_json(const std::vector<Panel>& panels) {
    json all = json::array();
    for (const Panel& panel : panels)
        all.push_back(to_json(panel));
    return all;
}

json worst_to_json(const Report& report) {
    json all = json::array();
    if (!report.table_set) return all;
    for (const WorstRatio& worst : worst_ratios(report.lookups)) {
        json one{{"row", worst.row},
                 {"column", worst.column},
                 {"subject_is_times_better", worst.factor.median},
                 {"panel", worst.panel},
                 {"panels", worst.panels}};
        if (const RatioTarget* target = find_target(set_targets, worst.row, worst.column))
            one["target"] = target->factor;
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace

void write_json(const std::string& path, const Report& report) {
    json head = json::object();
    for (const auto& [name, value] : report.head)
        head[name] = value;
    json sizes = json::array();
    for (const auto& [family, rows] : report.sizes) {
        for (const SizeRow& row : rows) {
            json parts = json::object();
            for (const auto& [name, bytes] : row.parts)
                parts[name] = bytes;
            sizes.push_back({{"family", family == Family::ipv4 ? 4 : 6},
                             {"peer", row.peer},
                             {"bytes", row.total()},
                             {"parts", parts}});
        }
    }
    std::ofstream file(path);
    file << json{{"benchmark", "fib"},
                 {"format", 2},
                 {"machine", head},
                 {"lookups", to_json(report.lookups)},
                 {"worst", worst_to_json(report)},
                 {"churn", to_json(report.churn)},
                 {"load", to_json(report.load)},
                 {"sizes", sizes}}
                .dump(2)
         << '\n'
         << std::flush;
    if (!file) harness::fail_errno("write " + path);
}

}  // namespace pktpit::bench::fib
