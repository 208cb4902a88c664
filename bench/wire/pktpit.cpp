// SPDX-License-Identifier: BSD-3-Clause
#include <optional>

#include "bench/harness/netlink.h"
#include "bench/wire/forwarder.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::wire {
namespace {

class PktpitForwarder : public Forwarder {
  public:
    PktpitForwarder(std::string binary, DaemonSettings settings, Build build)
        : binary_(std::move(binary)), settings_(std::move(settings)), build_(build) {}

    [[nodiscard]] std::string name() const override {
        return way() + (build_ == Build::before ? " before" : "");
    }
    [[nodiscard]] std::string description() const override {
        return (build_ == Build::before ? binary_ : "pktpitd") + ", dataplane " +
               (is_dpdk() ? "dpdk, one worker, polling busy" : "xdp, " + settings_.forwarding) +
               "; static routes from files, static neighbour" +
               (settings_.aggregation ? "; a group of the aggregation service without workers" : "") +
               (settings_.dpdk_driver == "net_af_xdp"
                    ? ", busy_budget=" + std::to_string(settings_.busy_budget)
                    : "");
    }
    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        if (is_dpdk()) take_addresses(topology);
        daemon_.emplace(binary_, topology, workloads, settings_);
        daemon_->start();
        daemon_->settle();
        if (has_workers()) daemon_->place_workers();
    }
    [[nodiscard]] bool runs_on(harness::Cores cores) const override {
        return has_workers() ? cores != harness::Cores::one_core : cores != harness::Cores::free_receive;
    }
    [[nodiscard]] std::pair<pid_t, std::string> process() const override {
        return {has_workers() ? daemon_->pid() : 0, "pktpit-w"};
    }
    void wake() override {
        if (has_workers()) daemon_->thaw();
    }
    void rest() override {
        if (has_workers()) daemon_->freeze();
    }

  private:
    /// They are to be the taps', and the daemon takes no device that the kernel uses.
    static void take_addresses(const harness::Topology& topology) {
        const harness::InNamespace here(topology.router());
        harness::Netlink netlink;
        for (const Family family : {Family::ipv4, Family::ipv6}) {
            netlink.remove_address(topology.ingress().ifindex, harness::addressing(family).ingress);
            netlink.remove_address(topology.egress().ifindex, harness::addressing(family).egress);
        }
    }
    [[nodiscard]] std::string way() const {
        if (is_dpdk()) return "pktpit dpdk, " + settings_.dpdk_driver;
        if (settings_.aggregation) return "pktpit with a group";
        return settings_.forwarding == "inline" ? "pktpit" : "pktpit " + settings_.forwarding;
    }
    [[nodiscard]] bool is_dpdk() const { return !settings_.dpdk_driver.empty(); }
    [[nodiscard]] bool has_workers() const { return is_dpdk() || settings_.forwarding != "inline"; }

    std::string binary_;
    DaemonSettings settings_;
    Build build_;
    std::optional<PktpitDaemon> daemon_;
};

}  // namespace

std::unique_ptr<Forwarder> make_pktpit_forwarder(const std::string& binary, const std::string& forwarding,
                                                 Build build) {
    return std::make_unique<PktpitForwarder>(binary, DaemonSettings{.forwarding = forwarding}, build);
}

std::unique_ptr<Forwarder> make_pktpit_aggregation_forwarder(const std::string& binary) {
    return std::make_unique<PktpitForwarder>(binary, DaemonSettings{.aggregation = true}, Build::measured);
}

std::unique_ptr<Forwarder> make_pktpit_dpdk_forwarder(const std::string& binary, const std::string& driver,
                                                      unsigned busy_budget, Build build) {
    return std::make_unique<PktpitForwarder>(
        binary, DaemonSettings{.dpdk_driver = driver, .busy_budget = busy_budget}, build);
}

}  // namespace pktpit::bench::wire
