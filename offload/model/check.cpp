// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

namespace pktpit::model {
namespace {

/// More than 840,000 of the routes, as the research had; it is not said which.
constexpr size_t routes_of_the_research = 840'500;

struct Row {
    unsigned number;
    const char* what;
    void (*run)(CheckRun&);
};

constexpr std::array rows_there_are = {
    Row{1, "bytes on every link", check_bytes_per_link},
    Row{2, "effective bandwidth of Gen 3 x8", check_effective_bandwidth},
    Row{4, "main memory under load", check_memory_load},
    Row{7, "switch chips and redirection", check_chip_latencies},
    Row{8, "peer operations", check_peer_operations},
    Row{9, "Allreduce", check_allreduce},
};

Result<std::shared_ptr<const RouteTable>> open_table(const CheckSettings& settings, size_t most) {
    return settings.table.empty() ? RouteTable::generate(most) : RouteTable::open(settings.table, most);
}

Result<void> check_with_tables(CheckRun& run, bool row5, bool row6, const CheckSettings& settings) {
    run.progress("rows 5 and 6: loading the routing table");
    const auto table = open_table(settings, 0);
    if (!table) return tl::unexpected(table.error());
    if (row5) check_p2pnic(run, *table);
    if (!row6) return {};
    const auto part = open_table(settings, routes_of_the_research);
    if (!part) return tl::unexpected(part.error());
    check_pktpit(run, *part);
    check_today(run, *table);
    return {};
}

Result<void> change(Profile& profile, const CheckSettings& settings) {
    for (const auto& [name, value] : settings.set)
        if (auto good = profile.set(name, value, "set for this check"); !good) return good;
    return {};
}

}  // namespace

std::string_view to_string(Origin origin) {
    switch (origin) {
        case Origin::exact:
            return "exact";
        case Origin::put_in:
            return "put in";
        case Origin::calibrated:
            return "calibrated";
        default:
            return "emergent";
    }
}

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::holds:
            return "holds";
        case Verdict::tie:
            return "tie";
        case Verdict::depends:
            return "depends";
        case Verdict::in_band:
            return "in band";
        case Verdict::unmet:
            return "unmet";
        default:
            return "information";
    }
}

Verdict met(bool good) {
    return good ? Verdict::holds : Verdict::unmet;
}

Verdict within(double value, double wanted, double tolerance, const std::pair<double, double>& band) {
    if (value >= wanted - tolerance && value <= wanted + tolerance) return Verdict::holds;
    return band.first <= wanted && wanted <= band.second ? Verdict::in_band : Verdict::unmet;
}

Verdict ahead(double ahead, double other, const Tolerance& per_cent) {
    const double lead = (ahead / other - 1) * 100;
    return lead > per_cent.value ? Verdict::holds : lead < -per_cent.value ? Verdict::unmet : Verdict::tie;
}

Profile CheckRun::profile(const std::string& name) const {
    Profile profile = own_profile(name);
    (void)change(profile, settings_);  // run_check() has looked whether they can be
    return profile;
}

void CheckRun::inform(unsigned row, std::string what, std::string got, std::string source, Origin origin) {
    CheckLine line{row, std::move(what)};
    line.got = std::move(got);
    line.origin = origin;
    line.verdict = Verdict::information;
    line.source = std::move(source);
    report.lines.push_back(std::move(line));
}

Profile own_profile(const std::string& name) {
    auto profile = Profile::open(name);
    if (!profile) throw std::runtime_error(profile.error().front().to_string());
    return *profile;
}

Topology own_topology(const std::string& name) {
    auto topology = Topology::open(name);
    if (!topology) throw std::runtime_error(topology.error().front().to_string());
    return *topology;
}

std::string fixed(double value, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

std::string signed_percent(double share, int digits) {
    return (share < 0 ? "" : "+") + fixed(share * 100, digits) + " %";
}

Result<CheckReport> run_check(std::span<const unsigned> rows, const CheckSettings& settings,
                              const Progress& progress) {
    Profile probe = own_profile("generic");
    if (auto good = change(probe, settings); !good) return tl::unexpected(good.error());
    CheckReport report;
    CheckRun run(report, settings, progress);
    const auto wanted = [&](unsigned number) {
        return rows.empty() || std::ranges::find(rows, number) != rows.end();
    };
    for (const Row& row : rows_there_are) {
        // Row 3 is seen in the runs of row 1.
        if (!wanted(row.number) && !(row.number == 1 && wanted(3))) continue;
        run.progress("row " + std::to_string(row.number) + ": " + row.what);
        row.run(run);
    }
    if (wanted(5) || wanted(6)) {
        const auto good = check_with_tables(run, wanted(5), wanted(6), settings);
        if (!good) return tl::unexpected(good.error());
    }
    std::ranges::stable_sort(report.lines, {}, &CheckLine::row);
    return report;
}

}  // namespace pktpit::model
