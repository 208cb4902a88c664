// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rfc2544/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "bench/harness/failure.h"
#include "bench/report/files.h"
#include "bench/report/plot.h"

namespace pktpit::bench::rfc2544 {
namespace {

using nlohmann::json;

constexpr double fcs_preamble_gap = 4 + 8 + 12;  ///< bytes that a frame takes on an Ethernet beside its own

double gigabits(const Throughput& row, double rate) {
    return rate * (row.average_bytes + fcs_preamble_gap) * 8 / 1e9;
}

json to_json(const Throughput& row, const Goal& goal) {
    return {{"loss", goal.loss},
            {"mpps", goal.lower / 1e6},
            {"mpps_not", goal.upper / 1e6},
            {"generators_limit", goal.generators_limit},
            {"resolution", goal.width()},
            {"gbps", gigabits(row, goal.lower)}};
}

json to_json(const Throughput& row) {
    json out{{"forwarder", row.forwarder},
             {"frames", row.frames},
             {"average_bytes", row.average_bytes},
             {"highest_mpps", row.highest / 1e6},
             {"ndr", to_json(row, row.ndr)},
             {"pdr", to_json(row, row.pdr)},
             {"trials", row.trials},
             {"latencies", json::array()},
             {"loss_curve", json::array()},
             {"back_to_back_frames", row.back_to_back},
             {"faults", row.faults}};
    for (const Latency& latency : row.latencies)
        out["latencies"].push_back({{"share_of_ndr", latency.share},
                                    {"p50_us", latency.median_us},
                                    {"p99_us", latency.p99_us},
                                    {"p999_us", latency.p999_us}});
    for (const LossPoint& point : row.curve)
        out["loss_curve"].push_back({{"wanted_mpps", point.wanted / 1e6},
                                     {"offered_mpps", point.offered / 1e6},
                                     {"loss", point.loss},
                                     {"reached", point.reached}});
    return out;
}

std::string label(const std::string& frames) {
    return frames == "imix" ? "IMIX" : frames + " B";
}

std::vector<report::CurveChart> charts(const Report& report) {
    std::vector<report::CurveChart> out;
    report::CurveChart rates{
        "throughput without loss (IMIX at its average size)", "frame size, bytes", "Mpps", false, {}};
    for (const auto& [name, description] : report.forwarders) {
        report::Curve curve{name, {}};
        for (const Throughput& row : report.rows)
            if (row.forwarder == name) curve.points.emplace_back(row.average_bytes, row.ndr.lower / 1e6);
        if (!curve.points.empty()) rates.curves.push_back(std::move(curve));
    }
    out.push_back(std::move(rates));
    const std::string smallest = report.rows.empty() ? "" : report.rows.front().frames;
    report::CurveChart losses{"loss, " + label(smallest), "offered, Mpps", "lost, %", false, {}};
    report::CurveChart delays{"latency p99, " + label(smallest), "load, % of the NDR", "us", true, {}};
    for (const Throughput& row : report.rows) {
        if (row.frames != smallest) continue;
        report::Curve loss{row.forwarder, {}}, delay{row.forwarder, {}};
        for (const LossPoint& point : row.curve)
            loss.points.emplace_back(point.offered / 1e6, point.loss * 100);
        for (const Latency& latency : row.latencies)
            delay.points.emplace_back(latency.share * 100, latency.p99_us);
        if (!loss.points.empty()) losses.curves.push_back(std::move(loss));
        if (!delay.points.empty()) delays.curves.push_back(std::move(delay));
    }
    for (report::CurveChart* chart : {&losses, &delays})
        if (!chart->curves.empty()) out.push_back(std::move(*chart));
    return out;
}

}  // namespace

void print_head(FILE* out, const Report& report) {
    for (const auto& [name, value] : report.machine)
        fmt::print(out, "{:12} {}\n", name, value);
    fmt::print(out, "{:12} {}\n\n", "command", report.command);
    for (const auto& [name, description] : report.forwarders)
        fmt::print(out, "{:30} {}\n", name, description);
    fmt::print(out, "\n{}\n{}: {}\ntrials of {} s (RFC 2544 wants 60), bounds at most {} % apart\n",
               report.workload, harness::name_of(report.cores), harness::explain(report.cores),
               report.trial_seconds, report.resolution * 100);
    std::fflush(out);
}

void print_report(FILE* out, const Report& report) {
    fmt::print(out, "\n{:8} {:26} {:>9} {:>8} {:>9} {:>8} {:>8} {:>7}  {}\n", "frames", "forwarder",
               "NDR Mpps", "Gbit/s", "PDR Mpps", "Gbit/s", "burst", "trials",
               "latency us p50/p99/p99.9 at 10, 50, 90 % of the NDR");
    for (const Throughput& row : report.rows) {
        std::string delays;
        for (const Latency& latency : row.latencies)
            delays += fmt::format("{}{:.1f}/{:.1f}/{:.1f}", delays.empty() ? "" : "  ", latency.median_us,
                                  latency.p99_us, latency.p999_us);
        fmt::print(out, "{:8} {:26} {:9.3f} {:8.2f} {:9.3f} {:8.2f} {:>8} {:7}  {}\n", label(row.frames),
                   row.forwarder, row.ndr.lower / 1e6, gigabits(row, row.ndr.lower), row.pdr.lower / 1e6,
                   gigabits(row, row.pdr.lower),
                   row.back_to_back >= longest_burst ? fmt::format(">={}", longest_burst)
                                                     : std::to_string(row.back_to_back),
                   row.trials, delays);
        if (!row.faults.empty()) fmt::print(out, "WRONG FRAMES: {}\n", row.faults);
    }
    for (const Throughput& row : report.rows)
        for (const auto& [name, goal] : {std::pair{"NDR", &row.ndr}, std::pair{"PDR", &row.pdr}})
            if (goal->generators_limit)
                fmt::print(out,
                           "{} {}: above its {} is a load that the generator does not make, {:.3f} Mpps: it "
                           "may carry more\n",
                           label(row.frames), row.forwarder, name, goal->upper / 1e6);
    fmt::print(
        out,
        "\nloss, % of the frames that the generator has sent; *: the generator did not make the load, and "
        "sent so many\n");
    for (const Throughput& row : report.rows) {
        if (row.curve.empty()) continue;
        fmt::print(out, "{:8} {:26}", label(row.frames), row.forwarder);
        for (const LossPoint& point : row.curve)
            fmt::print(out, " {:.2f}{}:{:.2f}", point.offered / 1e6, point.reached ? "" : "*",
                       point.loss * 100);
        fmt::print(out, "   (Mpps:%)\n");
    }
    for (const auto& [name, command] : report.commands)
        fmt::print(out, "\n{}\n  {}\n", name, command);
    if (!report.patch.empty()) fmt::print(out, "\nl3fwd's patch\n{}", report.patch);
}

void write_json(const std::string& path, const Report& report) {
    json out{{"benchmark", "rfc2544"},
             {"format", 2},
             {"command", report.command},
             {"workload", report.workload},
             {"cores", harness::name_of(report.cores)},
             {"cores_explained", harness::explain(report.cores)},
             {"trial_seconds", report.trial_seconds},
             {"machine", json::object()},
             {"forwarders", json::object()},
             {"commands", json::object()},
             {"l3fwd_patch", report.patch},
             {"throughput", json::array()}};
    for (const auto& [name, value] : report.machine)
        out["machine"][name] = value;
    for (const auto& [name, value] : report.forwarders)
        out["forwarders"][name] = value;
    for (const auto& [name, value] : report.commands)
        out["commands"][name] = value;
    for (const Throughput& row : report.rows)
        out["throughput"].push_back(to_json(row));
    std::ofstream file(path);
    file << out.dump(2) << '\n';
    if (!file.flush()) harness::fail_errno("write " + path);
}

void write_results(const std::string& folder, const Report& report) {
    const std::string stem = report::results_stem(folder, "rfc2544");
    FILE* text = fopen((stem + ".txt").c_str(), "w");
    if (!text) harness::fail_errno("write " + stem + ".txt");
    print_head(text, report);
    print_report(text, report);
    fclose(text);
    write_json(stem + ".json", report);
    const auto drawn = charts(report);
    const bool plots = report::draw(report::curves_script(drawn), drawn.size(), stem);
    for (const char* ending : {".txt", ".json", ".svg", ".png"})
        report::hand_to_user(stem + ending);
    fmt::print("\nwritten: {}.txt, .json{}\n", stem,
               plots ? ", .svg, .png" : "; no plots: gnuplot failed or is missing");
}

}  // namespace pktpit::bench::rfc2544
