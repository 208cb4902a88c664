#include "offload/model/check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

namespace pktpit::model {
namespace {

struct Row {
    unsigned number;
    const char* what;
    void (*run)(CheckReport&, const Progress&);
};

constexpr std::array rows_there_are = {
    Row{1, "bytes on every link", check_bytes_per_link},
    Row{2, "effective bandwidth of Gen 3 x8", check_effective_bandwidth},
    Row{4, "main memory under load", check_memory_load},
    Row{5, "P2PNIC against the CPU-driven router", check_p2pnic},
    Row{6, "Pktpit against the CPU-driven router", check_pktpit},
    Row{7, "switch chips and redirection", check_chip_latencies},
    Row{8, "peer operations", check_peer_operations},
};

}  // namespace

std::string_view to_string(Origin origin) {
    return origin == Origin::exact ? "exact" : origin == Origin::calibrated ? "calibrated" : "emergent";
}

std::string_view to_string(Verdict verdict) {
    return verdict == Verdict::holds ? "holds" : verdict == Verdict::unmet ? "UNMET" : "";
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

CheckReport run_check(std::span<const unsigned> rows, const Progress& progress) {
    CheckReport report;
    for (const Row& row : rows_there_are) {
        // Row 3 is seen in the runs of row 1.
        const auto wanted = [&](unsigned number) {
            return number == row.number || (number == 3 && row.number == 1);
        };
        if (!rows.empty() && std::ranges::none_of(rows, wanted)) continue;
        if (progress) progress("row " + std::to_string(row.number) + ": " + row.what);
        row.run(report, progress);
    }
    std::ranges::stable_sort(report.lines, {}, &CheckLine::row);
    return report;
}

}  // namespace pktpit::model
