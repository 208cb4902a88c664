// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/summary_text.h"

#include <nlohmann/json.hpp>

#include <ostream>

#include "router/cli/table.h"

namespace pktpit::router::cli {

using nlohmann::json;

void print_facts(const Session& session, const Facts& facts) {
    Table table({{"", Align::left}, {"", Align::left, true}});
    for (const auto& [name, value] : facts)
        table.add_row({name, value});
    session.terminal.out << table.render(session.terminal, false);
}

std::string source_text(const fib::ReadSummary& summary) {
    std::string text = fib::name_of(summary.format);
    if (summary.compression != fib::Compression::none)
        text.append(", ").append(fib::name_of(summary.compression));
    text.append(": ").append(std::to_string(summary.records));
    return text.append(summary.format == fib::Format::mrt ? " records" : " lines");
}

std::string skipped_text(const fib::ReadSummary& summary) {
    std::string text;
    for (const auto& [name, count] : summary.skipped.by_name())
        text.append(text.empty() ? "" : ", ").append(name).append(" ").append(std::to_string(count));
    return text;
}

json source_json(const std::string& path, const fib::ReadSummary& summary) {
    json skipped = json::object();
    for (const auto& [name, count] : summary.skipped.by_name())
        skipped[name] = count;
    json peers = json::array();
    for (const fib::Peer& peer : summary.peers)
        peers.push_back({{"address", peer.address.to_string()}, {"as", peer.as}});
    return {{"file", path},
            {"format", fib::name_of(summary.format)},
            {"compression", fib::name_of(summary.compression)},
            {"records", summary.records},
            {"skipped", std::move(skipped)},
            {"peers", std::move(peers)}};
}

}  // namespace pktpit::router::cli
