// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/next_hops.h"

#include "router/cli/json_text.h"

namespace pktpit::router::cli {

std::string next_hop_text(const nlohmann::json& hop, bool weights) {
    std::string text;
    const auto add = [&](const std::string& words) { text.append(text.empty() ? "" : " ").append(words); };
    const std::string via = text_of(hop, "via", "");
    const std::string interface = text_of(hop, "interface", "");
    if (!via.empty()) add("via " + via);
    if (!interface.empty()) add("dev " + interface);
    if (weights) add("weight " + std::to_string(number_of(hop, "weight")));
    return text;
}

namespace {

Cell next_hop_cell(const nlohmann::json& hop, bool weights) {
    const std::string state = text_of(hop, "state", "");
    Cell cell((flag_of(hop, "backup") ? "backup " : "") + next_hop_text(hop, weights));
    if (state == "failed" || state == "down" || state == "inactive") {
        const std::string reason = text_of(hop, "reason", "");
        cell.text += " (" + (reason.empty() ? state : "inactive: " + reason) + ")";
        cell.colour = Colour::red;
    } else if (state == "unresolved" || state == "recursive") {
        cell.text += " (" + state + ")";
        if (state == "unresolved") cell.colour = Colour::dim;
    }
    return cell;
}

}  // namespace

std::vector<Cell> next_hop_cells(const nlohmann::json& route) {
    std::vector<Cell> cells;
    const auto& hops = part_of(route, "next_hops");
    for (const auto& hop : hops) {
        cells.push_back(next_hop_cell(hop, hops.size() > 1));
        const auto& resolved = part_of(part_of(hop, "recursive"), "next_hops");
        for (const auto& below : resolved) {
            cells.push_back(next_hop_cell(below, resolved.size() > 1));
            cells.back().text.insert(0, "  ");
        }
    }
    if (cells.empty()) cells.emplace_back(text_of(route, "type"));
    return cells;
}

}  // namespace pktpit::router::cli
