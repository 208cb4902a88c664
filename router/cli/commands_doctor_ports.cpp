// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/commands_doctor_ports.h"

#include <net/if.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "offload/pci/finding.h"
#include "router/cli/commands_doctor.h"
#include "router/cli/commands_doctor_kernel.h"
#include "router/cli/table.h"
#include "router/dataplane/kernel_forwarding.h"
#include "router/xdp/driver_faults.h"
#include "router/xdp/kernel_support.h"
#include "router/xdp/redirect_targets.h"
#include "router/xdp/vlan_tags.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using offload::Finding;
using offload::Severity;

struct LookedAt {
    std::string name;
    bool there = false;
    std::optional<bool> redirects;  ///< nothing: the kernel does not say
};

struct PortsReport {
    KernelSupport kernel;
    std::vector<LookedAt> ports;
    offload::Findings findings;
};

bool is_split(const config::Interface& port) {
    return port.forwarding != config::Forwarding::inline_;
}

void look_at_tags(const config::Interface& port, PortsReport& report) {
    if (port.xdp_mode != config::XdpMode::generic) return;
    const std::string hidden = tags_warning(vlan_tags_of(port.name), true, false);
    if (hidden.empty()) return;
    const bool accepted = port.generic_vlan == config::GenericVlan::accept;
    report.findings.push_back(
        {"hidden_vlan_tags", accepted ? Severity::hindrance : Severity::blocker, port.name, hidden,
         "a device whose frames have their VLAN tags in them, or native mode",
         accepted ? "" : R"(where no tagged frames can come: "generic_vlan": "accept")"});
}

/// Which way frames take to a port that no redirect reaches.
std::string other_way(const KernelSupport& kernel) {
    const std::string what = ": what other ports have for it leaves by ";
    for (const auto& [part, result] : kernel.parts)
        if (part->name == "stack_redirects" && result.presence == Presence::missing)
            return what + "the daemon, as long as it runs";
    return what + "the kernel's stack";
}

void append(offload::Findings& all, offload::Findings more) {
    std::ranges::move(more, std::back_inserter(all));
}

void look_at(const config::Interface& port, RedirectTargets* targets, PortsReport& report) {
    LookedAt& seen = report.ports.emplace_back(LookedAt{port.name, false, std::nullopt});
    const uint32_t ifindex = ::if_nametoindex(port.name.c_str());
    seen.there = ifindex != 0;
    if (!seen.there) {
        report.findings.push_back({"no_device", Severity::blocker, port.name, "there is no such device",
                                   "an existing Linux device", "ip link"});
        return;
    }
    if (targets) seen.redirects = targets->takes_redirects(ifindex);
    if (!seen.redirects.value_or(true))
        report.findings.push_back({"no_redirects", Severity::hindrance, port.name,
                                   why_no_redirects(port.name) + other_way(report.kernel),
                                   "a device that takes redirected frames", ""});
    look_at_tags(port, report);
    append(report.findings, driver_findings(port.name, driver_state(port.name, is_split(port))));
}

PortsReport examine_ports(const config::Config& config) {
    PortsReport report;
    report.kernel = kernel_support();
    append(report.findings, kernel_findings(report.kernel, &config));
    const auto targets = RedirectTargets::open();
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent) look_at(interface, targets.get(), report);
    for (const Error& warning : kernel_forwarding_warnings(config.heartbeat))
        report.findings.push_back({"kernel_forwarding_off", Severity::hindrance, warning.where,
                                   warning.message, warning.expected, warning.hint});
    return report;
}

DoctorVerdict verdict_of(const PortsReport& report) {
    if (any_of(report.findings, Severity::blocker)) return DoctorVerdict::impossible;
    return any_of(report.findings, Severity::hindrance) ? DoctorVerdict::hindered : DoctorVerdict::direct;
}

Cell redirects_cell(const LookedAt& port) {
    if (!port.there) return {"no device", Colour::red};
    if (!port.redirects) return {"not known", Colour::dim};
    return *port.redirects ? Cell("yes", Colour::green) : Cell("no", Colour::yellow);
}

constexpr std::array port_summaries = {"nothing stands in the ports' way",
                                       "the ports work, slower or less sure than they could",
                                       "a port cannot work like this"};
constexpr const char* kernel_summary = "no port can work on this kernel";

const char* summary_of(const PortsReport& report) {
    const bool lacks_need = std::ranges::any_of(report.kernel.parts, [](const KernelSupport::Part& one) {
        return one.part->kind == PartKind::need && one.result.presence == Presence::missing;
    });
    return lacks_need ? kernel_summary : port_summaries.at(static_cast<size_t>(verdict_of(report)));
}

json ports_json(const PortsReport& report, const char* summary) {
    json ports = json::array();
    for (const LookedAt& port : report.ports)
        ports.push_back({{"name", port.name},
                         {"there", port.there},
                         {"takes_redirects", port.redirects ? json(*port.redirects) : json()}});
    return {{"summary", summary},
            {"kernel", kernel_json(report.kernel)},
            {"ports", std::move(ports)},
            {"findings", findings_json(report.findings)}};
}

}  // namespace

int doctor_ports(const Session& session, const config::Config& config) {
    const PortsReport report = examine_ports(config);
    const auto verdict = static_cast<int>(verdict_of(report));
    const char* summary = summary_of(report);
    if (session.json) {
        print_json(session, ports_json(report, summary));
        return verdict;
    }
    Table table({{"PORT"}, {"TAKES REDIRECTS"}});
    for (const LookedAt& port : report.ports)
        table.add_row({port.name, redirects_cell(port)});
    std::ostream& out = session.terminal.out;
    out << kernel_text(report.kernel, session.terminal) << '\n';
    if (!table.empty()) out << table.render(session.terminal) << '\n';
    for (const Finding& finding : report.findings)
        out << finding_text(finding, session.terminal);
    out << (report.findings.empty() ? "" : "\n") << summary << '\n';
    return verdict;
}

}  // namespace pktpit::router::cli
