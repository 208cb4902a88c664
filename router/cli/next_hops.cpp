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

std::vector<Cell> next_hop_cells(const nlohmann::json& route) {
    std::vector<Cell> cells;
    const auto& hops = part_of(route, "next_hops");
    for (const auto& hop : hops) {
        const std::string state = text_of(hop, "state", "");
        Cell cell(next_hop_text(hop, hops.size() > 1));
        if (state == "failed" || state == "down") {
            cell.text += " (" + state + ")";
            cell.colour = Colour::red;
        } else if (state == "unresolved") {
            cell.text += " (unresolved)";
            cell.colour = Colour::dim;
        }
        cells.push_back(std::move(cell));
    }
    if (cells.empty()) cells.emplace_back(text_of(route, "type"));
    return cells;
}

}  // namespace pktpit::router::cli
