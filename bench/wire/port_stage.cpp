// SPDX-License-Identifier: BSD-3-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <memory>

#include "bench/harness/failure.h"
#include "bench/wire/forwarder.h"
#include "fib/image.h"
#include "router/xdp/maps.h"
#include "router/xdp/port_link.h"
#include "router/xdp/rcu_barrier.h"

namespace pktpit::bench::wire {
namespace {

constexpr uint16_t ingress_id = 1;
constexpr uint16_t egress_id = 2;

template <class T>
T must(Result<T> value, const char* what) {
    if (!value) throw harness::Failure(std::string(what) + ": " + value.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*value);
}

pp_fib_port describe(const harness::Port& port, uint16_t interface) {
    pp_fib_port out{};
    std::copy(port.mac.bytes.begin(), port.mac.bytes.end(), out.mac);
    out.flags = PP_PORT_UP;
    out.ifindex = port.ifindex;
    out.interface = interface;
    return out;
}

/// One adjacency, one group, and every prefix of the workloads in it.
void fill(pktpit::fib::FibImage& image, const harness::Topology& topology,
          const std::vector<const harness::Workload*>& workloads) {
    image.set_port(ingress_id, describe(topology.ingress(), ingress_id));
    image.set_port(egress_id, describe(topology.egress(), egress_id));
    pp_fib_adjacency next_hop{};
    std::copy_n(topology.sink_port().mac.bytes.begin(), 6, next_hop.dst_mac);
    next_hop.kind = PP_ADJ_FORWARD;
    std::copy_n(topology.egress().mac.bytes.begin(), 6, next_hop.src_mac);
    next_hop.port = egress_id;
    next_hop.mtu = 1500;
    next_hop.interface = egress_id;
    const std::pair<pktpit::fib::AdjacencyId, uint16_t> member{
        must(image.add_adjacency(next_hop), "adjacency"), 1};
    const pktpit::fib::GroupId group = must(image.add_group({&member, 1}), "group");
    for (const harness::Workload* workload : workloads)
        for (const Prefix& prefix : workload->prefixes)
            must(image.set(prefix, group), "route");
}

class PortStageForwarder : public Forwarder {
  public:
    [[nodiscard]] std::string name() const override { return "port stage"; }
    [[nodiscard]] std::string description() const override {
        return "Pktpit's eBPF program and FIB image without the daemon";
    }

    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        const harness::InNamespace here(topology.router());
        const pp_fib_geometry geometry = pktpit::fib::plan_geometry({});
        maps_ = must(router::make_port_maps(geometry, {}), "make maps");
        memory_ = must(router::MappedImage::map(maps_.fib_image.get(), true), "map the FIB image");
        image_.emplace(memory_.memory(), geometry,
                       [barrier = std::make_shared<router::RcuBarrier>(
                            must(router::RcuBarrier::make(), "make an RCU barrier"))] { barrier->wait(); });
        fill(*image_, topology, workloads);
        attach_port(geometry, ingress_id, topology.ingress().ifindex);
        attach_port(geometry, egress_id, topology.egress().ifindex);
    }

  private:
    void attach_port(const pp_fib_geometry& geometry, uint16_t port, uint32_t ifindex) {
        const uint32_t key = port;
        if (bpf_map_update_elem(maps_.tx_ports.get(), &key, &ifindex, BPF_ANY) != 0)
            harness::fail_errno("fill the port map");
        router::PortProgram wanted{port};
        wanted.completes_checksums = true;  // as the daemon's on veth: frames are looked at for it
        const Fd program = must(router::load_port_stage(maps_, geometry, wanted), "load the port stage");
        links_.emplace_back(bpf_link_create(program.get(), static_cast<int>(ifindex), BPF_XDP, nullptr));
        if (!links_.back().valid()) harness::fail_errno("attach the port stage");
    }

    router::PortMaps maps_;
    router::MappedImage memory_;
    std::optional<pktpit::fib::FibImage> image_;
    std::vector<harness::Descriptor> links_;
};

}  // namespace

std::unique_ptr<Forwarder> make_port_stage_forwarder() {
    return std::make_unique<PortStageForwarder>();
}

}  // namespace pktpit::bench::wire
