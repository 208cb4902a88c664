// SPDX-License-Identifier: BSD-3-Clause
/// A dataplane that moves no packet: it remembers which ports are prepared and attached, and how. Of the two
/// kinds: with port stages on the host's devices, as `xdp`, or with devices of its own, as `dpdk`. Every call
/// may be made to fail (faults.h).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "router/dataplane/dataplane.h"
#include "tests/unit/control/fake_host.h"
#include "tests/unit/routing/memory_counters.h"

namespace pktpit::router::fake {

class FaultyCounters : public MemoryCounters {
  public:
    explicit FaultyCounters(Faults& faults) : faults_(faults) {}
    Result<void> remember(const CountedRoute& route, uint16_t counter) override {
        if (auto allowed = faults_.call("remember counter"); !allowed) return allowed;
        return MemoryCounters::remember(route, counter);
    }
    void forget(const CountedRoute& route) override {
        faults_.call_without_result("forget counter");
        MemoryCounters::forget(route);
    }

  private:
    Faults& faults_;
};

class MemoryDataplane : public Dataplane, public PortStages, public OwnDevices {
  public:
    struct Port {
        uint32_t ifindex = 0;
        bool attached = false;
        AttachMode mode = AttachMode::native;
        config::Forwarding forwarding = config::Forwarding::inline_;
    };

    MemoryDataplane(Host& host, Faults& faults, bool with_own_devices, uint32_t node_bytes = 1 << 20)
        : host_(host),
          faults_(faults),
          with_own_devices_(with_own_devices),
          counts_(faults),
          node_bytes_(node_bytes) {}

    [[nodiscard]] std::span<std::byte> image_memory() const override { return aligned_; }
    [[nodiscard]] const pp_fib_geometry& geometry() const override { return geometry_; }
    [[nodiscard]] fib::Reclamation reclamation() override {
        return fib::Reclamation([] {});
    }
    [[nodiscard]] PortStages* port_stages() override { return with_own_devices_ ? nullptr : this; }
    [[nodiscard]] OwnDevices* own_devices() override { return with_own_devices_ ? this : nullptr; }

    Result<void> prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) override {
        if (auto allowed = faults_.call("prepare " + settings.name); !allowed) return allowed;
        ports[port].ifindex = ifindex;
        return {};
    }
    Result<Attachment> attach(uint16_t port, uint32_t ifindex, const config::Interface& settings) override {
        if (auto allowed = faults_.call("attach " + settings.name); !allowed)
            return tl::unexpected(allowed.error());
        if (attaching) attaching();
        const bool generic_alone = generic_devices.contains(settings.name);
        if (generic_alone && settings.xdp_mode == config::XdpMode::native)
            return fail(settings.name, "the driver knows no native mode");
        Port& to = ports[port];
        Attachment attachment;
        if (to.attached) {
            attachment.mode = to.mode;  // a link keeps it
        } else if (generic_alone || settings.xdp_mode == config::XdpMode::generic) {
            attachment.mode = AttachMode::generic;
            if (settings.xdp_mode == config::XdpMode::automatic) attachment.why_generic = "no driver support";
        }
        to = {ifindex, true, attachment.mode, settings.forwarding};
        return attachment;
    }
    void detach(uint16_t port) override {
        faults_.call_without_result("detach");
        ports.erase(port);
    }
    [[nodiscard]] std::string_view forwarding(uint16_t) const override { return "inline"; }
    [[nodiscard]] Decided decided(uint16_t) const override { return {}; }
    [[nodiscard]] pp_port_counters counters(uint16_t port) const override {
        pp_port_counters result{};
        const auto found = packets.find(port);
        result.rx_packets = found == packets.end() ? 0 : found->second;
        return result;
    }
    void reset_counters(uint16_t port) override {
        faults_.call_without_result("reset counters");
        packets.erase(port);
    }
    [[nodiscard]] LatencyCounts latency(uint16_t) const override { return {}; }
    [[nodiscard]] RouteCounterStore& route_counters() override { return counts_; }
    [[nodiscard]] std::vector<WorkerState> workers() override { return {}; }
    Result<void> observe(const std::optional<pp_observing>&, ObservationHandler) override { return {}; }
    [[nodiscard]] uint64_t lost_observations(uint16_t) const override { return 0; }
    [[nodiscard]] int descriptor() const override { return -1; }
    void poll() override {}
    void tick() override {}
    bool transmit(uint16_t, std::span<const std::span<const uint8_t>>) override { return false; }

    Result<void> set_filters(const FilterSet& set) override {
        if (auto allowed = faults_.call("filters"); !allowed) return allowed;
        filters = set;
        return {};
    }
    Result<void> set_guards(const GuardSet& set) override {
        if (auto allowed = faults_.call("guards"); !allowed) return allowed;
        guards = set;
        return {};
    }
    [[nodiscard]] std::vector<pp_filter_counters> filter_counters(uint32_t first,
                                                                  uint32_t count) const override {
        std::vector<pp_filter_counters> out(count);
        for (uint32_t i = 0; i < count; i++)
            if (const auto found = filter_packets.find(first + i); found != filter_packets.end())
                out[i].packets = found->second;
        return out;
    }
    FilterSet filters;
    GuardSet guards;
    std::map<uint32_t, uint64_t> filter_packets;  ///< by counter

    // PortStages.
    void set_port_table(fib::TableId table) override { port_table = table; }
    void set_hot_table(fib::TableId) override {}
    [[nodiscard]] const std::map<uint32_t, uint16_t>& previous_ports() const override { return previous; }
    Result<std::vector<uint32_t>> commit() override {
        if (auto allowed = faults_.call("commit"); !allowed) return tl::unexpected(allowed.error());
        return std::vector<uint32_t>{};
    }
    void give_back_all() override {}
    void take_down() override {}
    void collect_traffic(HotChoice&) override {}
    void guard_order(bool) override {}
    [[nodiscard]] uint64_t malformed_punts() const override { return 0; }
    Result<void> set_heartbeat(const config::Heartbeat& wanted) override {
        if (auto allowed = faults_.call("heartbeat"); !allowed) return allowed;
        heartbeat = wanted;
        return {};
    }
    Result<void> set_vrfs(bool any) override {
        if (auto allowed = faults_.call("vrfs"); !allowed) return allowed;
        vrfs = any;
        return {};
    }
    Result<void> set_aggregation(const config::AggregationGroups& wanted) override {
        if (auto allowed = faults_.call("aggregation"); !allowed) return allowed;
        aggregation_groups = wanted;
        return {};
    }
    [[nodiscard]] std::vector<AggregationState> aggregation() const override { return {}; }
    [[nodiscard]] StandIn stand_in(uint16_t) const override { return {}; }

    // OwnDevices.
    Result<void> create_device(const config::Interface& port) override {
        if (devices.contains(port.name)) return {};
        if (auto allowed = faults_.call("create " + port.name); !allowed) return allowed;
        devices[port.name] = port.device;
        host_.add_device(port.name, "tun");
        return {};
    }
    void destroy_device(const std::string& name) override {
        faults_.call_without_result("destroy " + name);
        if (devices.erase(name) != 0) host_.remove_device(name);
    }
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t) override { return std::nullopt; }

    config::Heartbeat heartbeat;
    bool vrfs = false;
    config::AggregationGroups aggregation_groups;
    std::map<uint16_t, Port> ports;
    std::map<uint16_t, uint64_t> packets;        ///< counted, by port
    std::map<std::string, std::string> devices;  ///< of its own: what each stands for
    std::set<std::string> generic_devices;       ///< whose drivers know no native mode
    fib::TableId port_table = PP_FIB_DEFAULT_TABLE;
    std::map<uint32_t, uint16_t> previous;  ///< ports of an earlier daemon, by interface index
    std::function<void()> attaching;        ///< is called before each port

  private:
    Host& host_;
    Faults& faults_;
    bool with_own_devices_;
    FaultyCounters counts_;
    uint32_t node_bytes_;
    pp_fib_geometry geometry_ = fib::plan_geometry({.ports = PP_MAX_PORTS,
                                                    .vlans = 64,
                                                    .groups = 256,
                                                    .buckets = 4096,
                                                    .adjacencies = 256,
                                                    .tables = 16,
                                                    .roots = 0,
                                                    .node_bytes = node_bytes_});
    std::vector<std::byte> memory_{geometry_.image_bytes + 64};
    std::span<std::byte> aligned_{memory_.data() + (64 - reinterpret_cast<uintptr_t>(memory_.data()) % 64),
                                  geometry_.image_bytes};
};

}  // namespace pktpit::router::fake
