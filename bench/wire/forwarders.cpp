// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/forwarders.h"

#include "bench/harness/failure.h"
#include "bench/wire/dpdk_forwarders.h"

namespace pktpit::bench::wire {
namespace {

constexpr std::string_view before = "before-";
const std::vector<std::string> daemons{"pktpit", "pktpit-split", "pktpit-auto", "pktpit-dpdk-xdp",
                                       "pktpit-dpdk-packet"};

/// Nothing: it is no daemon's name.
std::unique_ptr<Forwarder> make_daemon(const std::string& name, const std::string& binary, Build build,
                                       unsigned busy_budget) {
    if (name == "pktpit") return make_pktpit_forwarder(binary, "inline", build);
    if (name == "pktpit-split") return make_pktpit_forwarder(binary, "split", build);
    if (name == "pktpit-auto") return make_pktpit_forwarder(binary, "auto", build);
    if (name == "pktpit-dpdk-xdp")
        return make_pktpit_dpdk_forwarder(binary, "net_af_xdp", busy_budget, build);
    if (name == "pktpit-dpdk-packet")
        return make_pktpit_dpdk_forwarder(binary, "net_af_packet", busy_budget, build);
    return nullptr;
}

}  // namespace

std::vector<std::string> forwarder_names() {
    std::vector<std::string> names = daemons;
    for (const std::string& name : daemons)
        names.push_back(std::string(before) + name);
    names.insert(names.end(),
                 {"pktpit-aggregation", "port-stage", "kernel", "lpm-trie", "fib-lookup", "fixed"});
    for (const DpdkRow& row : dpdk_rows())
        names.push_back(row.name);
    return names;
}

std::unique_ptr<Forwarder> make_forwarder(const std::string& name, const ForwarderSettings& settings) {
    if (name.starts_with(before)) {
        if (settings.before.empty())
            throw harness::Failure(name + " wants --before PKTPITD, another build's");
        return make_daemon(name.substr(before.size()), settings.before, Build::before, settings.busy_budget);
    }
    if (auto daemon = make_daemon(name, settings.pktpitd, Build::measured, settings.busy_budget))
        return daemon;
    if (name == "pktpit-aggregation") return make_pktpit_aggregation_forwarder(settings.pktpitd);
    if (name == "kernel") return make_kernel_forwarder();
    if (name == "fib-lookup") return make_fib_lookup_forwarder();
    if (name == "lpm-trie") return make_lpm_trie_forwarder();
    if (name == "port-stage") return make_port_stage_forwarder();
    for (const DpdkRow& row : dpdk_rows())
        if (row.name == name) return make_dpdk_forwarder(row, settings.busy_budget);
    if (name == "fixed") return make_fixed_redirect_forwarder();
    throw harness::Failure("no forwarder " + name);
}

/// DPDK's programs want huge pages: a table for the whole Internet takes l3fwd 800 MiB, whatever it holds.
size_t hugepages_needed(const std::vector<std::string>& names) {
    size_t bytes = 0;
    for (const std::string& full_name : names) {
        const std::string name = full_name.starts_with(before) ? full_name.substr(before.size()) : full_name;
        if (name.starts_with("l3fwd")) bytes += size_t{1400} << 20;
        if (name.starts_with("testpmd")) bytes += size_t{192} << 20;
        if (name.starts_with("pktpit-dpdk")) bytes += size_t{192} << 20;
        if (name == "pktpit-split" || name == "pktpit-auto") bytes += size_t{64} << 20;
    }
    return bytes;
}

}  // namespace pktpit::bench::wire
