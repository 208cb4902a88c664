// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/rows.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "bench/cpu/capture_file.h"
#include "bench/cpu/pktpit_row.h"
#include "bench/dpdk/l3fwd.h"
#include "bench/dpdk/program.h"
#include "bench/dpdk/telemetry.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::cpu {
namespace {

constexpr std::chrono::seconds longest_start{900};  // rte_lpm takes 6.5 minutes for the Internet's table
constexpr unsigned mbufs = 98304;                   // net_pcap keeps a copy of every frame
constexpr size_t most_frames = 65536;

constexpr MacAddress next_hop{{0x02, 0x50, 0x42, 0xff, 0x00, 0x02}};

struct Place {
    std::string folder;
    std::string prefix;
    Place() {
        static unsigned count = 0;
        prefix = fmt::format("pktpit-cpu-{}-{}", getpid(), count++);
        folder = "/run/" + prefix;
        std::filesystem::create_directories(folder);
    }
};

void write(const std::string& path, const std::string& text) {
    if (!(std::ofstream(path) << text).flush()) harness::fail_errno("write " + path);
}

class DpdkRow : public CpuRow {
  public:
    DpdkRow(std::vector<std::string> arguments, const std::string& prefix, const std::string& ready,
            std::string patch)
        : command_(dpdk::command_line(arguments)),
          patch_(std::move(patch)),
          program_(std::move(arguments), nullptr) {
        program_.wait_until_it_says(ready, longest_start);
        telemetry_.emplace(prefix);
        harness::schedule_threads(program_.pid(), "", std::nullopt, harness::Schedule::router);
        program_.freeze();
    }
    void wake() override { program_.thaw(); }
    void rest() override { program_.freeze(); }
    uint64_t forwarded() override { return telemetry_->port(1).sent; }
    [[nodiscard]] pid_t process() const override { return program_.pid(); }
    [[nodiscard]] std::string command() const override { return command_; }
    [[nodiscard]] std::string patch() const override { return patch_; }

  private:
    std::string command_;
    std::string patch_;
    dpdk::DpdkProgram program_;
    std::optional<dpdk::Telemetry> telemetry_;
};

std::vector<std::string> eal(const Place& place, const std::string& cores) {
    return {"-l",
            cores,
            "--in-memory",
            "--no-pci",
            "--file-prefix",
            place.prefix,
            "--vdev=net_pcap0,rx_pcap=" + place.folder + "/frames.pcap,infinite_rx=1",
            "--vdev=net_null0,no-rx=1"};
}

std::unique_ptr<CpuRow> start_testpmd(const harness::Workload& workload, const CpuSettings& settings) {
    const Place place;
    write_capture(place.folder + "/frames.pcap", cpu_frames(workload), capture_shape(settings));
    const unsigned other = settings.core == 0 ? 1 : 0;
    std::vector<std::string> arguments{"dpdk-testpmd"};
    for (const auto& word :
         eal(place, fmt::format("{},{}", std::min(other, settings.core), std::max(other, settings.core))))
        arguments.push_back(word);
    for (const auto& word :
         {std::string("--main-lcore"), std::to_string(other), std::string("--"),
          std::string("--forward-mode=io"), std::string("--nb-cores=1"), std::string("--auto-start"),
          std::string("--no-lsc-interrupt"), fmt::format("--total-num-mbufs={}", mbufs)})
        arguments.push_back(word);
    return std::make_unique<DpdkRow>(std::move(arguments), place.prefix, "Press enter to exit", "");
}

/// For lpm and fib: `R prefix port`. For em: the five numbers of each flow.
std::string rules(const harness::Workload& workload, bool exact, Family family) {
    std::string out;
    const auto& net = harness::addressing(family);
    const std::string source = net.source.to_string();
    if (workload.prefixes.front().address.family != family)  // a table must not be empty
        return exact ? fmt::format("R{} {} 1 1 0x11 1\n", net.next_hop.to_string(), source)
                     : fmt::format("R{} 1\n", net.egress.net().to_string());
    if (exact)
        for (const IpAddress& destination : cpu_frames(workload))
            out += fmt::format("R{} {} 1024 1024 0x11 1\n", destination.to_string(), source);
    else
        for (const Prefix& prefix : workload.prefixes)
            out += fmt::format("R{} 1\n", prefix.to_string());
    return out;
}

std::unique_ptr<CpuRow> start_l3fwd(const harness::Workload& workload, const CpuSettings& settings,
                                    const std::string& lookup, bool patched) {
    const dpdk::L3fwd l3fwd = dpdk::build_l3fwd(patched, mbufs);
    const Place place;
    write_capture(place.folder + "/frames.pcap", cpu_frames(workload), capture_shape(settings));
    const bool exact = lookup == "em";
    write(place.folder + "/v4", rules(workload, exact, Family::ipv4));
    write(place.folder + "/v6", rules(workload, exact, Family::ipv6));
    std::vector<std::string> arguments{l3fwd.binary};
    for (const auto& word : eal(place, std::to_string(settings.core)))
        arguments.push_back(word);
    for (const auto& word :
         {std::string("--"), std::string("-p"), std::string("0x3"), std::string("--config"),
          fmt::format("(0,0,{0}),(1,0,{0})", settings.core), std::string("--parse-ptype"),
          std::string("--lookup"), lookup, "--rule_ipv4=" + place.folder + "/v4",
          "--rule_ipv6=" + place.folder + "/v6", "--eth-dest=1," + next_hop.to_string()})
        arguments.push_back(word);
    if (exact && workload.prefixes.front().address.is_v6()) arguments.emplace_back("--ipv6");
    return std::make_unique<DpdkRow>(std::move(arguments), place.prefix, "entering main loop", l3fwd.patch);
}

}  // namespace

std::span<const IpAddress> cpu_frames(const harness::Workload& workload) {
    return std::span(workload.destinations).first(std::min(workload.destinations.size(), most_frames));
}

CaptureShape capture_shape(const CpuSettings& settings) {
    return {pcap_mac, settings.frame_bytes, settings.trailers_percent};
}

std::vector<CpuRowKind> cpu_rows(const CpuSettings& settings) {
    std::vector<CpuRowKind> rows;
    rows.push_back({"testpmd", "testpmd io", "the floor: DPDK testpmd, forward mode io, looks at nothing",
                    size_t{400} << 20, false, true,
                    [=](const harness::Workload& workload) { return start_testpmd(workload, settings); }});
    for (const bool patched : {true, false})
        for (const std::string lookup : {"lpm", "fib", "em"})
            rows.push_back({(patched ? "l3fwd-" : "l3fwd-stock-") + lookup,
                            (patched ? "l3fwd " : "stock l3fwd ") + lookup,
                            patched ? "DPDK's example router, patched; it validates less than a router must"
                                    : "as Debian ships it",
                            size_t{1700} << 20, !patched, patched, [=](const harness::Workload& workload) {
                                return start_l3fwd(workload, settings, lookup, patched);
                            }});
    rows.push_back({"pktpit", "pktpit dpdk",
                    "pktpitd, dataplane dpdk, polling busy; static routes from a file", size_t{600} << 20,
                    true, true,
                    [=](const harness::Workload& workload) { return start_pktpit(workload, settings); }});
    return rows;
}

}  // namespace pktpit::bench::cpu
