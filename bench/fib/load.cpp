// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/fib/clock.h"
#include "bench/fib/pktpit_peer.h"
#include "bench/fib/runner.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

constexpr const char* peer_column = "rte_fib 4B + rte_fib6 4B";
constexpr const char* own_column = "Pktpit";

template <LookupAddress Address>
void measure(benchmark::State& state, const Table& table, const PeerKind<Address>& kind) {
    for (auto _ : state) {
        const double begin = wall_seconds();
        const auto peer = kind.make(table);
        state.SetIterationTime(wall_seconds() - begin);
    }
}

template <LookupAddress Address>
void add(std::vector<Measurement>& group, const Options& options, const Table& table,
         std::vector<PeerKind<Address>> kinds) {
    kinds.push_back(pktpit_kind<Address>());
    for (const PeerKind<Address>& kind : kinds) {
        const bool own = &kind == &kinds.back();
        if (!own && (!kind.takes_updates || !options.wants_peer(kind.name))) continue;
        group.push_back({fmt::format("{} load/{}", name_of(table.family), own ? own_column : peer_column), 1,
                         [&table, kind](benchmark::State& state) { measure(state, table, kind); }});
    }
}

}  // namespace

Panel compare_load(const Options& options, const std::vector<Table>& tables,
                   const std::vector<PeerKind<Address4>>& peers4,
                   const std::vector<PeerKind<Address6>>& peers6) {
    Panel panel;
    panel.title = "loading a full table from sorted memory";
    panel.unit = "seconds";
    panel.lower_is_better = true;
    panel.subject = own_column;
    std::vector<std::vector<Measurement>> groups;
    for (const Table& table : tables) {
        groups.emplace_back();
        if (table.family == Family::ipv4)
            add(groups.back(), options, table, peers4);
        else
            add(groups.back(), options, table, peers6);
        panel.rows.push_back(fmt::format("{} load", name_of(table.family)));
    }
    auto samples = run_interleaved(groups, options.load_rounds);
    panel.columns = {own_column};
    if (std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.size() > 1; }))
        panel.columns.insert(panel.columns.begin(), peer_column);
    for (const std::string& row : panel.rows)
        for (const std::string& column : panel.columns)
            for (const Sample& sample : samples[fmt::format("{}/{}", row, column)])
                panel.cells[{row, column}].samples.push_back(sample.at("seconds"));
    if (tables.size() < 2) return panel;
    panel.rows.emplace_back("both");
    for (const std::string& column : panel.columns) {
        const auto& first = panel.cells[{panel.rows[0], column}].samples;
        const auto& second = panel.cells[{panel.rows[1], column}].samples;
        for (size_t i = 0; i < std::min(first.size(), second.size()); i++)
            panel.cells[{"both", column}].samples.push_back(first[i] + second[i]);
    }
    return panel;
}

}  // namespace pktpit::bench::fib
