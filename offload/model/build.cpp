// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/build.h"

#include <algorithm>
#include <bit>

namespace pktpit::model {
namespace {

using Kind = TopologyDevice::Kind;

class Builder {
  public:
    Builder(const Topology& topology, const Profile& profile, const BuildOptions& options)
        : topology_(topology), profile_(profile) {
        machine_.fabric = std::make_unique<Fabric>();
        const auto nics = static_cast<unsigned>(topology.nics());
        machine_.layout = NicLayout(std::max(nics, 1U), profile.count("nic.slots"),
                                    profile.count("nic.window"), options.nic_fib_bytes);
        if (topology.memory_below_4g) next_bar_ = 0x80000000;
        RootComplex& root = machine_.fabric->add_root("root", topology.root_ports.size(),
                                                      root_settings(topology, profile, options));
        for (size_t i = 0; i < topology.root_ports.size(); i++)
            add(root, i, topology.root_ports[i]);
        machine_.fabric->finish();
    }
    Machine take() { return std::move(machine_); }

  private:
    void add(Node& above, size_t port, const TopologyDevice& device) {
        Node& made = device.kind == Kind::switch_chip ? add_switch(device) : add_endpoint(device);
        machine_.fabric->connect(above, port, made,
                                 link_settings(topology_, profile_, device.link, device.cxl));
        for (size_t i = 0; i < device.below.size(); i++)
            add(made, i + 1, device.below[i]);
    }
    Node& add_switch(const TopologyDevice& device) {
        SwitchSettings settings;
        settings.latency =
            device.latency_ns >= 0 ? from_ns(device.latency_ns) : profile_.ns("switch.latency_ns");
        if (device.acs_redirect != TopologyDevice::Redirect::off) settings.redirect_requests = ~uint64_t{0};
        settings.direct_translated = topology_.ats;
        if (device.acs_redirect == TopologyDevice::Redirect::all)
            settings.redirect_completions = ~uint64_t{0};
        return machine_.fabric->add_switch(device.name, device.below.size(), settings);
    }
    Node& add_endpoint(const TopologyDevice& device) {
        EndpointSettings settings = endpoint_settings(topology_, profile_);
        if (device.cxl) settings.read_latency = profile_.ns("cxl.read_latency_ns");
        settings.bar_bytes =
            std::bit_ceil(device.kind == Kind::nic ? machine_.layout.bytes : uint64_t{device.mib} << 20);
        settings.bar = (next_bar_ + settings.bar_bytes - 1) / settings.bar_bytes * settings.bar_bytes;
        next_bar_ = settings.bar + settings.bar_bytes;
        Endpoint& endpoint = machine_.fabric->add_endpoint(device.name, settings);
        if (device.kind == Kind::nic) {
            machine_.nic_endpoints.push_back(&endpoint);
            machine_.nic_settings.push_back(nic_settings(device));
        } else {
            machine_.memories.push_back(&endpoint);
        }
        return endpoint;
    }
    [[nodiscard]] NicSettings nic_settings(const TopologyDevice& device) const {
        NicSettings settings;
        settings.gbps = device.gbps;
        settings.slots = profile_.count("nic.slots");
        settings.window = profile_.count("nic.window");
        settings.threads = profile_.count("nic.threads");
        settings.receive_latency = profile_.ns("nic.receive_latency_ns");
        settings.transmit_latency = profile_.ns("nic.transmit_latency_ns");
        settings.credit_batch = profile_.count("nic.credit_batch");
        return settings;
    }

    const Topology& topology_;
    const Profile& profile_;
    Machine machine_;
    uint64_t next_bar_ = uint64_t{1} << 38;
};

}  // namespace

Machine build_machine(const Topology& topology, const Profile& profile, const BuildOptions& options) {
    return Builder(topology, profile, options).take();
}

CompletionCut completion_cut(const Topology& topology, const Profile& profile) {
    using offload::Completions;
    const Completions rule = profile.count("completion.at_boundary") != 0 ? Completions::at_boundary
                                                                          : Completions::as_large_as_payload;
    return {topology.mps, topology.rcb, topology.completions.value_or(rule)};
}

LinkSettings link_settings(const Topology& topology, const Profile& profile, const offload::PcieLink& link,
                           bool cxl) {
    LinkSettings settings;
    settings.cxl = cxl;
    settings.link = link;
    settings.mps = topology.mps;
    settings.ecrc = topology.ecrc;
    settings.data_link = topology.data_link;
    settings.propagation = profile.ns("link.propagation_ns");
    settings.credit_latency = profile.ns("link.credit_latency_ns");
    settings.credits = {
        CreditLimit{profile.count("link.posted_headers"), profile.count("link.posted_data")},
        CreditLimit{profile.count("link.non_posted_headers"), 0},
        CreditLimit{profile.count("link.completion_headers"), profile.count("link.completion_data")}};
    return settings;
}

RootSettings root_settings(const Topology& topology, const Profile& profile, const BuildOptions& options) {
    RootSettings settings;
    settings.latency = profile.ns("root.latency_ns");
    settings.peer_to_peer = topology.peer_to_peer;
    settings.peer_split = profile.count("root.peer_split_bytes");
    settings.peer_reads = profile.count("root.peer_reads");
    settings.completions = completion_cut(topology, profile);
    MemorySettings& memory = settings.memory;
    if (topology.memory_below_4g) memory.base = 0x10000000;
    memory.bytes = options.memory_bytes;
    memory.read_latency = profile.ns("memory.read_latency_ns");
    memory.write_latency = profile.ns("memory.write_latency_ns");
    memory.read_bytes_per_ns = profile.value("memory.read_gbytes");
    memory.write_bytes_per_ns = profile.value("memory.write_gbytes");
    memory.partial_line_cost = profile.value("memory.partial_line_cost");
    memory.write_load = options.write_load;
    memory.read_load = options.read_load;
    memory.write_by_write_load = profile.value("memory.write_by_write_load");
    memory.write_by_read_load = profile.value("memory.write_by_read_load");
    memory.read_by_write_load = profile.value("memory.read_by_write_load");
    memory.read_by_read_load = profile.value("memory.read_by_read_load");
    memory.llc.bytes = static_cast<uint64_t>(profile.value("llc.mib") * (1 << 20));
    memory.llc.ways = profile.count("llc.ways");
    memory.llc.io_ways = profile.count("llc.io_ways");
    memory.llc.load_bytes_per_ns =
        (options.write_load + options.read_load) * profile.value("llc.load_gbytes");
    memory.llc.read_latency = profile.ns("llc.read_latency_ns");
    settings.iommu.on = topology.iommu;
    settings.iommu.page_bytes = profile.count("iommu.page_bytes");
    settings.iommu.entries = profile.count("iommu.entries");
    settings.iommu.walkers = profile.count("iommu.walkers");
    settings.iommu.hit = profile.ns("iommu.hit_ns");
    settings.iommu.walk = profile.ns("iommu.walk_ns");
    return settings;
}

EndpointSettings endpoint_settings(const Topology& topology, const Profile& profile) {
    EndpointSettings settings;
    settings.read_latency = profile.ns("device.read_latency_ns");
    settings.completions = completion_cut(topology, profile);
    settings.requester.tags = profile.count("dma.tags");
    settings.requester.mps = topology.mps;
    settings.requester.mrrs = topology.mrrs;
    settings.requester.atc_entries = topology.ats ? profile.count("ats.entries") : 0;
    settings.requester.atc_page = profile.count("iommu.page_bytes");
    settings.requester.write_issue = profile.ns("dma.write_issue_ns");
    settings.requester.read_issue = profile.ns("dma.read_issue_ns");
    return settings;
}

}  // namespace pktpit::model
