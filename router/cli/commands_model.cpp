// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/commands_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "fib/tables/data_folder.h"
#include "offload/model/result_json.h"
#include "router/cli/format.h"
#include "router/cli/model_experiment.h"
#include "router/cli/model_sweep.h"

namespace pktpit::router::cli {
int print_errors(const Session& session, const model::Errors& errors) {
    for (const Error& error : errors)
        session.terminal.print_error(error);
    return exit_wrong;
}

namespace {

/// Filled up with blanks; an arrow is three bytes and one column.
std::string column(std::string text, size_t width) {
    const size_t columns = text.size() - (text.find("→") == std::string::npos ? 0 : 2);
    return text.append(width - std::min(width, columns), ' ');
}

void print_rates(std::ostream& out, const model::ExperimentResult& result) {
    out << format_packet_rate(result.packets_per_second) << ", " << format_bit_rate(result.bits_per_second)
        << "; latency median " << model::fixed(result.latency_median_ns, 0) << " ns, p99 "
        << model::fixed(result.latency_p99_ns, 0) << " ns";
}

void print_links(std::ostream& out, const model::ExperimentResult& result) {
    for (const model::LinkResult& link : result.links) {
        if (link.counters.all_tlps() == 0) continue;
        out << "  " << column(link.from + " → " + link.to, 24) << std::setw(4)
            << model::fixed(link.utilisation * 100, 0) << " %  ";
        const char* separator = "";
        for (size_t i = 0; i < model::tlp_types; i++) {
            if (link.counters.tlps[i] == 0) continue;
            out << separator << to_string(static_cast<model::TlpType>(i)) << ' '
                << format_count(link.counters.tlps[i]) << " (" << format_bytes(link.counters.wire_bytes[i])
                << ')';
            separator = ", ";
        }
        out << '\n';
    }
}

/// Of several flows: from the one that got least of what it sent to the one that got most.
void print_flows(std::ostream& out, const model::ExperimentResult& result) {
    if (result.flows.size() < 2) return;
    double least = 1, most = 0;
    for (const model::FlowCounters& flow : result.flows) {
        const double share =
            static_cast<double>(flow.delivered) / static_cast<double>(std::max<uint64_t>(flow.offered, 1));
        least = std::min(least, share);
        most = std::max(most, share);
    }
    out << result.flows.size() << " flows: " << model::fixed(least * 100, 1) << " to "
        << model::fixed(std::min(most, 1.0) * 100, 1) << " % of each delivered\n";
}

void print_drops(std::ostream& out, const model::ExperimentResult& result) {
    for (size_t i = 0; i < result.nics.size(); i++) {
        const model::NicCounters& nic = result.nics[i];
        if (nic.no_slot)
            out << "NIC " << i << ": " << format_count(nic.no_slot) << " dropped, packet memory full\n";
        if (nic.no_route) out << "NIC " << i << ": " << format_count(nic.no_route) << " dropped, no route\n";
        if (nic.stale_descriptors)
            out << "NIC " << i << ": " << format_count(nic.stale_descriptors)
                << " stale descriptors behind a doorbell\n";
        if (nic.dma_errors)
            out << "NIC " << i << ": " << format_count(nic.dma_errors) << " dropped, DMA failed\n";
    }
    if (result.cpu.tx_full)
        out << "CPU: " << format_count(result.cpu.tx_full) << " dropped, transmit ring full\n";
    if (result.traffic.damaged) out << format_count(result.traffic.damaged) << " came out damaged\n";
    if (result.traffic.reordered)
        out << format_count(result.traffic.reordered) << " came out behind later ones\n";
}

/// Where a packet's CPU time comes from: measured, or a profile's estimate.
void print_cpu(std::ostream& out, const model::ExperimentResult& result, const ModelExperiment& experiment) {
    const bool l3fwd = experiment.settings.program == model::Program::l3fwd;
    const char* name = l3fwd ? "cpu.packet_ns" : "cpu.slice_packet_ns";
    const model::Constant& constant = experiment.profile.constants().find(name)->second;
    out << "CPU " << model::fixed(result.cpu_utilisation * 100, 0) << " % busy, "
        << format_count(result.cpu.bursts) << " bursts, " << format_count(result.cpu.doorbells)
        << " doorbells; " << name << " is " << model::fixed(constant.value, 1) << " (profile "
        << experiment.profile.name() << ": " << printable(constant.source) << ")\n";
}

void print_table(std::ostream& out, const model::ExperimentResult& result,
                 const ModelExperiment& experiment) {
    const model::RouteTable& table = *experiment.settings.table;
    out << "Table: " << format_count(table.prefixes().size()) << " IPv4 routes (" << printable(table.origin())
        << "), " << format_count(experiment.settings.destinations->addresses().size()) << " destinations";
    if (experiment.settings.program == model::Program::p2pnic) {
        uint64_t hits = 0, misses = 0;
        for (const model::NicCounters& nic : result.nics) {
            hits += nic.fib_hits;
            misses += nic.fib_misses;
        }
        out << "; a NIC's FIB holds " << format_count(result.nic_fib_blocks) << " blocks of addresses"
            << (result.nic_fib_full ? " and is full" : "") << ", and decided "
            << model::fixed(100 * static_cast<double>(hits) /
                                static_cast<double>(std::max<uint64_t>(hits + misses, 1)),
                            1)
            << " % of the packets, the CPU the rest";
    }
    out << "\n";
}

void print_operations(std::ostream& out, const model::ExperimentResult& result) {
    const model::OperationsResult& all = result.operations;
    const model::PeerEngineCounters& engine = all.engine;
    const double packets = static_cast<double>(all.packets);
    out << "Peer operations: " << format_count(engine.operations) << " for " << format_count(all.packets)
        << " packets, " << format_count(engine.doorbells) << " doorbells ("
        << model::fixed(packets / static_cast<double>(std::max<uint64_t>(engine.doorbells, 1)), 1)
        << " packets each), " << format_count(engine.fences) << " fences, " << format_count(engine.polls)
        << " waits for room; control loop " << model::fixed(result.cpu_utilisation * 100, 1)
        << " % of a core, " << format_count(all.control.programs) << " programs for "
        << format_count(all.control.generations) << " changes of the FIB, " << format_count(all.interrupts)
        << " interrupts\n";
    if (!all.last_refusal.empty()) out << "A program was refused: " << all.last_refusal << '\n';
}

}  // namespace

int model_run(const Session& session, const ModelOptions& options) {
    const auto experiment = read_experiment(options);
    if (!experiment) return print_errors(session, experiment.error());
    const auto result = run_experiment(experiment->topology, experiment->profile, experiment->settings);
    if (!result) return print_failure(session, result.error(), exit_wrong);
    if (options.csv) {
        session.terminal.out << result_csv_header() << "\r\n" << result_csv(to_json(*result)) << "\r\n";
        return exit_ok;
    }
    if (session.json) {
        nlohmann::json value = to_json(*result);
        value["profile"] = to_json(experiment->profile);
        if (const auto& table = experiment->settings.table)
            value["table"] = {{"origin", table->origin()}, {"ipv4_routes", table->prefixes().size()}};
        print_json(session, value);
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    print_rates(out, *result);
    out << "\n";
    print_flows(out, *result);
    if (!options.operations.empty()) print_operations(out, *result);
    if (experiment->settings.table) print_table(out, *result, *experiment);
    if (options.program != "p2pnic" || result->cpu.packets > 0) print_cpu(out, *result, *experiment);
    print_drops(out, *result);
    out << "Links while measured: busy, TLPs, bytes with framing\n";
    print_links(out, *result);
    return exit_ok;
}

int model_explain(const Session& session, const ModelOptions& options) {
    auto experiment = read_experiment(options);
    if (!experiment) return print_errors(session, experiment.error());
    // One packet alone: nothing else is on its way.
    model::ExperimentSettings& settings = experiment->settings;
    settings.traffic.flows = {{0, 0, 1, 0, 1}};
    settings.traffic.most = 1;
    settings.trace = 1;
    settings.drain = true;
    settings.warm_up = 10 * model::microsecond;
    settings.duration = 200 * model::microsecond;
    const auto result = run_experiment(experiment->topology, experiment->profile, settings);
    if (!result) return print_failure(session, result.error(), exit_wrong);
    if (session.json) {
        print_json(session, to_json(*result));
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    out << options.program << (options.program == "l3fwd" ? "" : " " + options.transfer)
        << (options.operations.empty() ? "" : " by peer operations, " + options.operations)
        << ", one packet of " << settings.traffic.size << " B; topology " << experiment->topology.name
        << ", profile " << experiment->profile.name() << "\n     from ns       to ns  what\n";
    const model::Time zero = result->trace.empty() ? 0 : result->trace.front().begin;
    model::Time end = zero;
    uint64_t wire = 0;
    for (const model::TraceEntry& entry : result->trace) {
        out << std::setw(12) << model::fixed(model::to_ns(entry.begin - zero), 1) << std::setw(12)
            << model::fixed(model::to_ns(entry.end - zero), 1) << "  ";
        if (entry.is_tlp) {
            out << column(entry.from + " → " + entry.to, 24) << column(entry.what, 12) << std::setw(5)
                << entry.wire_bytes << " B on the link\n";
            wire += entry.wire_bytes;
        } else {
            out << column(entry.from, 24) << entry.what << '\n';
        }
        if (!entry.is_tlp && entry.what.starts_with("transmit")) end = entry.end;
    }
    if (const auto& ports = experiment->topology.root_ports; !ports.empty())
        out << "Data link layer of the links at the root: "
            << data_link_words(link_settings(experiment->topology, experiment->profile, ports[0].link))
            << '\n';
    out << "Out of the egress port " << model::fixed(model::to_ns(end - zero), 1)
        << " ns after its last bit came in; " << wire << " B on all PCIe links together\n";
    return exit_ok;
}

namespace {

std::string format_plain(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

Colour colour_of(model::Verdict verdict) {
    switch (verdict) {
        case model::Verdict::holds:
            return Colour::green;
        case model::Verdict::unmet:
            return Colour::red;
        default:
            return Colour::yellow;
    }
}

void print_check_line(const Session& session, const model::CheckLine& line) {
    const bool unmet = line.verdict == model::Verdict::unmet;
    const std::string verdict = unmet ? "UNMET" : std::string(to_string(line.verdict));
    std::ostream& out = session.terminal.out;
    out << "    " << session.terminal.paint(colour_of(line.verdict), verdict)
        << std::string(verdict.size() < 9 ? 9 - verdict.size() : 1, ' ') << line.what << ": " << line.expected
        << "; the model: " << line.got << " [" << to_string(line.origin);
    if (!line.follows_from.empty()) out << ": " << line.follows_from;
    if (line.tolerance)
        out << "; tolerance " << format_plain(line.tolerance->value) << ' ' << line.tolerance->unit;
    out << "]\n";
}

std::string check_csv(const model::CheckReport& report) {
    std::string text =
        "row,what,expected,got,value,tolerance,unit,band_least,band_most,origin,verdict,source\r\n";
    for (const model::CheckLine& line : report.lines) {
        text += std::to_string(line.row) + "," + csv_field(line.what) + "," + csv_field(line.expected) + "," +
                csv_field(line.got) + ",";
        if (line.value) text += format_plain(*line.value);
        text += ",";
        if (line.tolerance)
            text += format_plain(line.tolerance->value) + "," + csv_field(line.tolerance->unit);
        text += line.tolerance ? "," : ",,";
        if (line.band) text += format_plain(line.band->first) + "," + format_plain(line.band->second);
        text += line.band ? "," : ",,";
        text += std::string(to_string(line.origin)) + "," + std::string(to_string(line.verdict)) + "," +
                csv_field(line.source) + "\r\n";
    }
    return text;
}

}  // namespace

int model_check(const Session& session, const ModelOptions& options) {
    model::CheckSettings settings{options.table, {}};
    if (options.table.empty()) settings.table = fib::data_file("internet-ipv4-2026-06.txt.xz").value_or("");
    if (options.table == "generated") settings.table.clear();
    for (const std::string& setting : options.set) {
        const auto constant = read_constant(setting);
        if (!constant) return print_failure(session, constant.error(), exit_wrong);
        settings.set.push_back(*constant);
    }
    const auto checked = model::run_check(options.rows, settings, [&](const std::string& what) {
        if (session.terminal.interactive) session.terminal.err << what << '\n';
    });
    if (!checked) return print_failure(session, checked.error(), exit_wrong);
    const model::CheckReport& report = *checked;
    bool all = true;
    for (const model::CheckLine& line : report.lines)
        all &= line.verdict != model::Verdict::unmet;
    if (options.csv) {
        session.terminal.out << check_csv(report);
        return all ? exit_ok : exit_wrong;
    }
    if (session.json) {
        print_json(session, to_json(report));
        return all ? exit_ok : exit_wrong;
    }
    std::ostream& out = session.terminal.out;
    unsigned row = 0;
    std::string source;
    for (const model::CheckLine& line : report.lines) {
        if (line.row != row) {
            out << (row ? "\n" : "")
                << session.terminal.paint(Colour::bold, "Row " + std::to_string(line.row)) << '\n';
            row = line.row;
            source.clear();
        }
        if (line.verdict == model::Verdict::information) {
            out << "             " << line.what << ": " << line.got;
            if (!line.follows_from.empty())
                out << " [" << to_string(line.origin) << ": " << line.follows_from << ']';
            out << '\n';
            continue;
        }
        if (line.source != source) out << "  " << (source = line.source) << '\n';
        print_check_line(session, line);
    }
    return all ? exit_ok : exit_wrong;
}

}  // namespace pktpit::router::cli
