// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/dpdk_forwarders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "bench/dpdk/l3fwd.h"
#include "bench/dpdk/program.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::wire {
namespace {

/// rte_lpm takes 6.5 minutes for the Internet's table.
constexpr std::chrono::seconds longest_start{900};

std::vector<std::string> eal_arguments(const std::string& prefix, const std::string& cores) {
    return {"-l", cores, "--in-memory", "--no-telemetry", "--no-pci", "--file-prefix", prefix};
}

class DpdkForwarder : public Forwarder {
  public:
    DpdkForwarder(DpdkRow row, unsigned busy_budget) : row_(std::move(row)), busy_budget_(busy_budget) {
        if (row_.program != "testpmd") l3fwd_ = dpdk::build_l3fwd(row_.program == "l3fwd");
    }

    [[nodiscard]] std::string name() const override {
        if (row_.program == "testpmd") return "testpmd io, " + row_.driver;
        return fmt::format("{} {}, {}", row_.program == "l3fwd" ? "l3fwd" : "stock l3fwd", row_.lookup,
                           row_.driver);
    }
    [[nodiscard]] std::string description() const override {
        const std::string polling =
            row_.driver == "net_af_xdp" ? fmt::format(", busy_budget={}", busy_budget_) : "";
        if (row_.program == "testpmd")
            return "DPDK testpmd, forward mode io: looks at nothing and rewrites nothing" + polling;
        return fmt::format(
            "DPDK {} l3fwd, {}; it validates less than a router and keeps IPv6's hop limit{}", l3fwd_.version,
            row_.program == "l3fwd" ? "patched (see the patch)" : "as Debian ships it", polling);
    }
    [[nodiscard]] std::string patch() const override { return l3fwd_.patch; }
    [[nodiscard]] std::string command() const override { return command_; }
    [[nodiscard]] bool runs_on(harness::Cores cores) const override {
        return cores != harness::Cores::one_core;
    }
    [[nodiscard]] harness::Arrival arrival(Family family) const override {
        if (row_.program == "testpmd") return harness::Arrival::as_sent;
        return family == Family::ipv4 ? harness::Arrival::routed : harness::Arrival::ttl_kept;
    }

    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        folder_ = "/run/dpdk-" + topology.ingress().device;
        std::filesystem::create_directories(folder_);
        std::vector<std::string> arguments =
            row_.program == "testpmd" ? testpmd(topology) : l3fwd(topology, workloads);
        command_ = dpdk::command_line(arguments);
        program_.emplace(std::move(arguments), &topology.router());
        program_->wait_until_it_says(row_.program == "testpmd" ? "Press enter to exit" : "entering main loop",
                                     longest_start);
        harness::schedule_threads(program_->pid(), "", std::nullopt, harness::Schedule::router);
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] std::pair<pid_t, std::string> process() const override { return {program_->pid(), ""}; }
    void wake() override { program_->thaw(); }
    void rest() override { program_->freeze(); }

  private:
    void add_devices(std::vector<std::string>& arguments, const harness::Topology& topology) const {
        for (const auto& [number, port] :
             {std::pair{0, &topology.ingress()}, std::pair{1, &topology.egress()}}) {
            std::string device = fmt::format("--vdev={}{},iface={}", row_.driver, number, port->device);
            if (row_.driver == "net_af_xdp") device += fmt::format(",busy_budget={}", busy_budget_);
            arguments.push_back(device);
        }
    }

    [[nodiscard]] std::vector<std::string> testpmd(const harness::Topology& topology) const {
        std::vector<std::string> arguments{"dpdk-testpmd"};
        for (const auto& argument :
             eal_arguments("pktpit-" + topology.ingress().device,
                           fmt::format("{},{}", harness::generator_core, harness::router_core)))
            arguments.push_back(argument);
        arguments.insert(arguments.end(), {"--main-lcore", std::to_string(harness::generator_core)});
        add_devices(arguments, topology);
        arguments.insert(arguments.end(),
                         {"--", "--forward-mode=io", "--nb-cores=1", "--auto-start", "--rxd=1024",
                          "--txd=1024", "--no-lsc-interrupt", "--total-num-mbufs=16384"});
        return arguments;
    }

    [[nodiscard]] std::vector<std::string> l3fwd(
        const harness::Topology& topology, const std::vector<const harness::Workload*>& workloads) const {
        std::vector<std::string> arguments{l3fwd_.binary};
        for (const auto& argument :
             eal_arguments("pktpit-" + topology.ingress().device, std::to_string(harness::router_core)))
            arguments.push_back(argument);
        add_devices(arguments, topology);
        // Two tables are wanted, of one route at least.
        std::vector<Prefix> v4{*Prefix::parse("198.18.1.0/24")}, v6{*Prefix::parse("2001:2:0:b::/64")};
        for (const harness::Workload* workload : workloads) {
            auto& table = workload->prefixes.front().address.is_v4() ? v4 : v6;
            table.insert(table.end(), workload->prefixes.begin(), workload->prefixes.end());
        }
        arguments.insert(
            arguments.end(),
            {"--", "-p", "0x3", "--config", fmt::format("(0,0,{0}),(1,0,{0})", harness::router_core),
             "--parse-ptype", "--lookup", row_.lookup, "--rule_ipv4", write_rules("v4", v4), "--rule_ipv6",
             write_rules("v6", v6), "--eth-dest", "1," + topology.sink_port().mac.to_string()});
        return arguments;
    }

    [[nodiscard]] std::string write_rules(const std::string& name,
                                          const std::vector<Prefix>& prefixes) const {
        std::string path = folder_ + "/" + name;
        std::ofstream file(path);
        for (const Prefix& prefix : prefixes)
            file << 'R' << prefix.to_string() << " 1\n";
        if (!file.flush()) harness::fail_errno("write " + path);
        return path;
    }

    DpdkRow row_;
    unsigned busy_budget_;
    dpdk::L3fwd l3fwd_;
    std::string folder_;
    std::string command_;
    std::optional<dpdk::DpdkProgram> program_;
};

}  // namespace

const std::vector<DpdkRow>& dpdk_rows() {
    static const std::vector<DpdkRow> rows{{"l3fwd-fib-xdp", "l3fwd", "fib", "net_af_xdp"},
                                           {"l3fwd-lpm-xdp", "l3fwd", "lpm", "net_af_xdp"},
                                           {"l3fwd-fib-packet", "l3fwd", "fib", "net_af_packet"},
                                           {"l3fwd-lpm-packet", "l3fwd", "lpm", "net_af_packet"},
                                           {"l3fwd-stock-lpm-xdp", "l3fwd-stock", "lpm", "net_af_xdp"},
                                           {"l3fwd-stock-lpm-packet", "l3fwd-stock", "lpm", "net_af_packet"},
                                           {"testpmd-xdp", "testpmd", "", "net_af_xdp"},
                                           {"testpmd-packet", "testpmd", "", "net_af_packet"}};
    return rows;
}

std::unique_ptr<Forwarder> make_dpdk_forwarder(const DpdkRow& row, unsigned busy_budget) {
    return std::make_unique<DpdkForwarder>(row, busy_budget);
}

}  // namespace pktpit::bench::wire
