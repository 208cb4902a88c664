// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/commands_doctor.h"

#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>
#include <sstream>

#include "config/config.h"
#include "router/cli/commands_doctor_ports.h"
#ifdef PKTPIT_XDP
#include "router/cli/commands_doctor_kernel.h"
#endif

namespace pktpit::router::cli {
namespace {

using offload::PciAddress;
using offload::PciSnapshot;
using offload::PciTree;

/// A place inside a file, unless it names the file already.
std::string place_in(const std::string& path, const std::string& where) {
    if (where.starts_with(path)) return where;
    return where.empty() ? path : path + ": " + where;
}

Result<PciSnapshot> load_snapshot(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return fail(path, std::strerror(errno ? errno : EIO));
    auto snapshot = offload::parse_snapshot(text.str());
    if (!snapshot) snapshot.error().where = place_in(path, snapshot.error().where);
    return snapshot;
}

Result<PciSnapshot> snapshot_of(const DoctorOptions& options) {
    if (!options.tree.empty()) return load_snapshot(options.tree);
    auto snapshot = offload::read_snapshot();
    utsname names{};
    if (snapshot && ::uname(&names) == 0) snapshot->about = std::string("Linux ") + names.release;
    return snapshot;
}

Result<void> record(const PciSnapshot& snapshot, const std::string& path) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    errno = 0;
    if (!file || !(file << offload::to_json_text(snapshot)).flush())
        return fail(path, std::strerror(errno ? errno : EIO), "a file that can be written");
    return {};
}

Result<std::vector<PciAddress>> addresses(const std::vector<std::string>& words, const char* option) {
    std::vector<PciAddress> parsed;
    for (const std::string& word : words) {
        const auto address = PciAddress::parse(word);
        if (!address) {
            Error error = address.error();
            error.where = option;
            return tl::unexpected(error);
        }
        parsed.push_back(*address);
    }
    return parsed;
}

std::string mib_text(uint64_t bytes) {
    constexpr uint64_t mib = 1 << 20;
    return std::to_string((bytes + mib - 1) / mib) + " MiB";
}

/// The ports and the payload memory of a configuration.
Result<DoctorQuestion> question_of(const std::string& path) {
    const auto config = config::load(path);
    if (!config) {
        Error error = config.error().front();
        error.where = place_in(path, error.where);
        if (error.hint.empty()) error.hint = "pktpit check " + path;
        return tl::unexpected(error);
    }
    if (config->dataplane != "vfio")
        return fail(place_in(path, "/dataplane"), "is \"" + config->dataplane + "\", which does no P2P",
                    "\"vfio\"", "pktpit doctor without a file looks at the whole machine");
    DoctorQuestion question;
    question.configured = true;
    for (const auto& [name, interface] : config->interfaces) {
        const auto address = PciAddress::parse(interface.pci);
        if (!address) continue;
        if (interface.payload == config::PayloadPlace::bounce)
            question.findings.push_back({"bounce", offload::Severity::note, name,
                                         "its payload goes through main memory: \"payload\" is \"bounce\"",
                                         "", ""});
        else
            question.nics.push_back(*address);
    }
    const config::PayloadMemory& memory = config->vfio.payload_memory;
    if (memory.kind == config::MemoryKind::hugepages) {
        question.findings.push_back({"hugepages", offload::Severity::blocker, "/vfio/payload_memory",
                                     "payload waits in hugepages, which are main memory",
                                     "memory of a device",
                                     "pktpit doctor without a file lists the candidates"});
        return question;
    }
    const uint64_t slot_bytes = config->vfio.slot_bytes;
    const uint64_t least = question.nics.size() * config::Vfio::least_slots * slot_bytes;
    const uint64_t all_rings = question.nics.size() * config->vfio.rx_descriptors * slot_bytes;
    const uint64_t given = uint64_t{memory.size_mib} << 20;
    const auto needs = [&](uint64_t bytes) {
        return mib_text(bytes) + " for " + std::to_string(question.nics.size()) + " ports, slots of " +
               std::to_string(slot_bytes) + " bytes";
    };
    if (given != 0 && given < least)
        question.findings.push_back({"memory_small", offload::Severity::blocker,
                                     "/vfio/payload_memory/size_mib",
                                     "holds too few slots: pktpitd does not start",
                                     "at least " + needs(least), "a larger size_mib, or smaller slot_bytes"});
    else if (given != 0 && given < all_rings)
        question.findings.push_back(
            {"memory_small", offload::Severity::hindrance, "/vfio/payload_memory/size_mib",
             "holds fewer slots than the ports' receive rings: bursts are lost sooner", needs(all_rings),
             "a larger size_mib, or fewer rx_descriptors"});
    if (const auto address = PciAddress::parse(memory.pci)) {
        const bool has_bar =
            memory.kind == config::MemoryKind::pci_bar || memory.kind == config::MemoryKind::vfio_region;
        question.memories.push_back({*address, has_bar ? std::optional<unsigned>(memory.bar) : std::nullopt,
                                     given != 0 ? given : std::max(least, uint64_t{1} << 20)});
    }
    return question;
}

Result<DoctorQuestion> ask(const DoctorOptions& options, const PciTree& tree) {
    DoctorQuestion question = whole_machine(tree);
    if (!options.config.empty()) {
        auto configured = question_of(options.config);
        if (!configured) return configured;
        question = std::move(*configured);
    }
    const auto nics = addresses(options.nics, "--nic");
    if (!nics) return tl::unexpected(nics.error());
    const auto memories = addresses(options.memories, "--memory");
    if (!memories) return tl::unexpected(memories.error());
    if (!nics->empty()) question.nics = *nics;
    if (!memories->empty()) {
        question.memories.clear();
        for (const PciAddress address : *memories)
            question.memories.push_back({address, {}});
        std::erase_if(question.findings, [](const offload::Finding& f) { return f.code == "hugepages"; });
        question.whole_machine = false;
    }
    return question;
}

/// Of the machine as a whole: what the xdp dataplane would find here. P2P, which the verdict is about, needs
/// none of it.
#ifdef PKTPIT_XDP
void add_kernel(const Session& session, nlohmann::json& answer) {
    const KernelSupport kernel = kernel_support();
    const offload::Findings findings = kernel_findings(kernel, nullptr);
    if (session.json) {
        answer["kernel"] = kernel_json(kernel);
        for (nlohmann::json& finding : findings_json(findings))
            answer["findings"].push_back(std::move(finding));
        return;
    }
    std::ostream& out = session.terminal.out;
    out << "\nfor the xdp dataplane:\n\n" << kernel_text(kernel, session.terminal);
    if (!findings.empty()) out << '\n';
    for (const offload::Finding& finding : findings)
        out << finding_text(finding, session.terminal);
}
#else
void add_kernel(const Session&, nlohmann::json&) {}
#endif

}  // namespace

int doctor(const Session& session, const DoctorOptions& options) {
#ifdef PKTPIT_XDP
    const bool of_file_alone = options.nics.empty() && options.memories.empty() && options.tree.empty() &&
                               options.record.empty() && !options.config.empty();
    if (of_file_alone)
        if (const auto config = config::load(options.config); config && config->dataplane == "xdp")
            return doctor_ports(session, *config);
#endif
    const auto snapshot = snapshot_of(options);
    if (!snapshot) return print_failure(session, snapshot.error(), exit_unusable);
    if (!options.record.empty()) {
        const auto recorded = record(*snapshot, options.record);
        if (!recorded) return print_failure(session, recorded.error(), exit_unusable);
    }
    const PciTree tree(*snapshot);
    auto question = ask(options, tree);
    if (!question) return print_failure(session, question.error(), exit_unusable);
    const DoctorReport report = examine(tree, std::move(*question));
    const bool of_this_machine = options.tree.empty() && report.question.whole_machine;
    nlohmann::json answer;
    if (session.json) {
        answer = doctor_json(tree, report);
        answer["about"] = snapshot->about;
        if (of_this_machine) add_kernel(session, answer);
        print_json(session, answer);
    } else {
        if (!options.tree.empty() && !snapshot->about.empty())
            session.terminal.out << printable(snapshot->about) << "\n\n";
        session.terminal.out << doctor_text(tree, report, session.terminal);
        if (of_this_machine) add_kernel(session, answer);
    }
    return static_cast<int>(report.verdict);
}

}  // namespace pktpit::router::cli
