// SPDX-License-Identifier: BSD-3-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstring>

#include "bench/bpf/traffic.h"
#include "bench/harness/failure.h"
#include "bench/wire/forwarder.h"
#include "bench/wire/kernel_routes.h"
#include "fib_lookup.skel.h"
#include "fixed_redirect.skel.h"
#include "lpm_trie.skel.h"

namespace pktpit::bench::wire {
namespace {

using Link = std::unique_ptr<bpf_link, decltype(&bpf_link__destroy)>;

Link attach_to_ingress(const bpf_program* program, const harness::Topology& topology) {
    const harness::InNamespace here(topology.router());
    Link link(bpf_program__attach_xdp(program, static_cast<int>(topology.ingress().ifindex)),
              &bpf_link__destroy);
    if (!link) harness::fail_errno(std::string("attach ") + bpf_program__name(program));
    return link;
}

void set_egress(const bpf_map* map, uint32_t key, const harness::Topology& topology) {
    const harness::InNamespace here(topology.router());
    const uint32_t ifindex = topology.egress().ifindex;
    if (bpf_map_update_elem(bpf_map__fd(map), &key, &ifindex, BPF_ANY) != 0)
        harness::fail_errno("fill a devmap");
}

class KernelForwarder : public Forwarder {
  public:
    [[nodiscard]] std::string name() const override { return "kernel ip_forward"; }
    [[nodiscard]] std::string description() const override {
        return "GRO on, rp_filter and early demux off, no netfilter rules, permanent neighbour";
    }
    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        enable_kernel_forwarding(topology);
        for (const harness::Workload* workload : workloads)
            add_kernel_routes(topology, *workload);
    }
};

class FibLookupForwarder : public Forwarder {
  public:
    [[nodiscard]] std::string name() const override { return "XDP + bpf_fib_lookup"; }
    [[nodiscard]] std::string description() const override {
        return "bpf_fib_lookup() directly in the kernel's main table, TTL and MACs rewritten, redirect "
               "through a devmap";
    }
    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        enable_kernel_forwarding(topology);
        for (const harness::Workload* workload : workloads)
            add_kernel_routes(topology, *workload);
        skeleton_.reset(bench_fib_lookup::open());
        if (!skeleton_) harness::fail_errno("open the fib_lookup program");
        if (const int error = bench_fib_lookup::load(skeleton_.get()))
            harness::fail_with(error, "load the fib_lookup program");
        set_egress(skeleton_->maps.egress, topology.egress().ifindex, topology);
        link_ = attach_to_ingress(skeleton_->progs.forward, topology);
    }

  private:
    struct Destroy {
        void operator()(bench_fib_lookup* skeleton) const { bench_fib_lookup::destroy(skeleton); }
    };
    std::unique_ptr<bench_fib_lookup, Destroy> skeleton_;
    Link link_{nullptr, &bpf_link__destroy};
};

class LpmTrieForwarder : public Forwarder {
  public:
    [[nodiscard]] std::string name() const override { return "XDP + LPM_TRIE"; }
    [[nodiscard]] std::string description() const override {
        return "eBPF's own longest-prefix map, one a family; TTL and MACs rewritten, redirect through a "
               "devmap";
    }
    void attach(const harness::Topology& topology,
                const std::vector<const harness::Workload*>& workloads) override {
        skeleton_.reset(bench_lpm_trie::open());
        if (!skeleton_) harness::fail_errno("open the lpm_trie program");
        auto& macs = const_cast<pb_macs&>(skeleton_->rodata->macs);
        std::memcpy(macs.destination, topology.sink_port().mac.bytes.data(), 6);
        std::memcpy(macs.source, topology.egress().mac.bytes.data(), 6);
        for (const harness::Workload* workload : workloads)
            bpf_map__set_max_entries(trie(*workload), static_cast<uint32_t>(workload->prefixes.size()));
        if (const int error = bench_lpm_trie::load(skeleton_.get()))
            harness::fail_with(error, "load the lpm_trie program");
        for (const harness::Workload* workload : workloads)
            fill(bpf_map__fd(trie(*workload)), workload->prefixes);
        set_egress(skeleton_->maps.egress, 0, topology);
        link_ = attach_to_ingress(skeleton_->progs.forward, topology);
    }

  private:
    struct Destroy {
        void operator()(bench_lpm_trie* skeleton) const { bench_lpm_trie::destroy(skeleton); }
    };
    struct Key {
        uint32_t length;
        uint8_t address[16];
    };
    [[nodiscard]] bpf_map* trie(const harness::Workload& workload) const {
        return workload.prefixes.front().address.is_v4() ? skeleton_->maps.routes4 : skeleton_->maps.routes6;
    }
    static void fill(int map, const std::vector<Prefix>& prefixes) {
        const uint32_t egress = 0;
        for (const Prefix& prefix : prefixes) {
            Key key{prefix.length, {}};
            std::memcpy(key.address, prefix.address.bytes.data(), prefix.address.size());
            if (bpf_map_update_elem(map, &key, &egress, BPF_ANY) != 0)
                harness::fail_errno("fill an LPM_TRIE");
        }
    }
    std::unique_ptr<bench_lpm_trie, Destroy> skeleton_;
    Link link_{nullptr, &bpf_link__destroy};
};

class FixedRedirectForwarder : public Forwarder {
  public:
    [[nodiscard]] std::string name() const override { return "fixed redirect"; }
    [[nodiscard]] std::string description() const override {
        return "the upper bound: no lookup and no checks, TTL and MACs rewritten, redirect through a devmap";
    }
    void attach(const harness::Topology& topology, const std::vector<const harness::Workload*>&) override {
        skeleton_.reset(bench_fixed_redirect::open());
        if (!skeleton_) harness::fail_errno("open the fixed redirect program");
        auto& macs = const_cast<pb_macs&>(skeleton_->rodata->macs);
        std::memcpy(macs.destination, topology.sink_port().mac.bytes.data(), 6);
        std::memcpy(macs.source, topology.egress().mac.bytes.data(), 6);
        if (const int error = bench_fixed_redirect::load(skeleton_.get()))
            harness::fail_with(error, "load the fixed redirect program");
        set_egress(skeleton_->maps.egress, 0, topology);
        link_ = attach_to_ingress(skeleton_->progs.redirect, topology);
    }

  private:
    struct Destroy {
        void operator()(bench_fixed_redirect* skeleton) const { bench_fixed_redirect::destroy(skeleton); }
    };
    std::unique_ptr<bench_fixed_redirect, Destroy> skeleton_;
    Link link_{nullptr, &bpf_link__destroy};
};

}  // namespace

std::unique_ptr<Forwarder> make_kernel_forwarder() {
    return std::make_unique<KernelForwarder>();
}
std::unique_ptr<Forwarder> make_fib_lookup_forwarder() {
    return std::make_unique<FibLookupForwarder>();
}
std::unique_ptr<Forwarder> make_lpm_trie_forwarder() {
    return std::make_unique<LpmTrieForwarder>();
}
std::unique_ptr<Forwarder> make_fixed_redirect_forwarder() {
    return std::make_unique<FixedRedirectForwarder>();
}

}  // namespace pktpit::bench::wire
