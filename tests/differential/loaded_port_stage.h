// SPDX-License-Identifier: BSD-3-Clause
/// The eBPF port stage, loaded for some ports over one image, and run packet by packet through
/// BPF_PROG_TEST_RUN. Needs root. One thread, which it pins to its CPU: counters are per CPU, and so is the
/// punt ring.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf/abi.h"
#include "bpf/filter_layout.h"
#include "fib/image.h"
#include "router/filter/filter_view.h"
#include "router/guard/guard_view.h"
#include "router/xdp/ring_reader.h"

struct port_stage;

namespace pktpit::test {

using Bytes = std::vector<uint8_t>;

struct Punt {
    pp_punt header;
    Bytes frame;
};

struct Outcome {
    int action = 0;  ///< XDP_*
    Bytes frame;     ///< as the program left it
    pp_verdict verdict = PP_NONE;
    int verdicts_counted = 0;    ///< how many verdict counters moved, 1 if all is well
    pp_port_counters ingress{};  ///< what was added to the counters
    pp_route_counters route{};   ///< what was added to the counter asked for
    std::vector<Punt> punts;
    std::vector<Bytes> observations;  ///< what the observed program wrote down
};

/// What the programs are loaded with, as router/xdp does it.
struct StageOptions {
    bool observed = false;                  ///< the program that writes down what it does, all of it
    std::optional<uint32_t> split_table{};  ///< of split and auto ports, whose queue 0 has a socket
    std::optional<uint32_t> cold_table{};   ///< of auto ports
    bool watch_daemon = false;
    bool vrfs = false;                         ///< tables by interface: PP_BY_INTERFACE
    std::optional<pp_filter_shape> filters{};  ///< packets meet filters, in a block of this shape
    bool aggregation = false;
    uint32_t guards = 0;  ///< PP_GUARD_RPF and so on
    bool completes_checksums = false;
};

/// Ports that most stages are loaded for: of random traffic and of the test router.
inline constexpr std::array<uint16_t, 4> all_ports{1, 2, 3, 4};
inline constexpr std::array<uint16_t, 3> test_ingress{1, 3, 4};
inline constexpr std::array<uint16_t, 1> first_port{1};

class LoadedPortStage {
  public:
    /// One program for each port of `ports`; ports named in `egress` are in the devmap.
    LoadedPortStage(const pp_fib_geometry& geometry, std::span<const uint16_t> ports,
                    std::span<const uint16_t> egress, const StageOptions& options = {});
    ~LoadedPortStage();
    LoadedPortStage(const LoadedPortStage&) = delete;
    LoadedPortStage& operator=(const LoadedPortStage&) = delete;

    /// The map's memory, where a FibImage writes.
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    [[nodiscard]] const pp_fib_geometry& geometry() const { return geometry_; }
    /// Where filters are written (router/filter/filter_memory.h); empty: there are none.
    [[nodiscard]] std::span<std::byte> filter_block() const { return filter_block_; }
    /// For forward(); null: there are none.
    [[nodiscard]] const router::PublishedFilters* filters() const {
        return filter_block_.empty() ? nullptr : &published_;
    }
    /// What guards interfaces and the host, and for forward(): null without guards.
    [[nodiscard]] pp_guard& guard() const { return *guard_; }
    [[nodiscard]] const router::PublishedGuard* published_guard() const {
        return guarded_ ? &published_guard_ : nullptr;
    }
    [[nodiscard]] pp_filter_counters filter_counters(uint32_t counter) const;
    /// What the stages and workers tell each other.
    [[nodiscard]] pp_order& order() const { return *order_; }
    /// Of queue 0.
    [[nodiscard]] pp_socket_order& socket_order(uint16_t port) const {
        return order_->sockets[port * size_t{PP_PORT_QUEUES}];
    }
    /// `route_counter`: whose counts the outcome is to have.
    Outcome run(uint16_t port, const Bytes& frame, uint16_t route_counter = 0);
    /// Sum over CPUs.
    [[nodiscard]] pp_port_counters counters(uint16_t port) const;
    [[nodiscard]] pp_route_counters route_counters(uint16_t counter) const;
    /// From now on punts find no ring.
    void close_punt_rings();
    [[nodiscard]] std::string program_facts(uint16_t port) const;
    /// Instructions of the program as the kernel runs it.
    [[nodiscard]] uint32_t program_length(uint16_t port) const;
    /// One of them has to do with the map.
    [[nodiscard]] bool refers_to(uint16_t port, const char* map_name) const;
    /// Descriptor of a map by its name in the object.
    [[nodiscard]] int map(const char* name) const;

    static bool permitted();

  private:
    void on_punt(std::span<const uint8_t> record);
    struct PortStageDelete {
        void operator()(port_stage* skeleton) const;
    };
    [[nodiscard]] int program(uint16_t port) const;
    [[nodiscard]] port_stage& first() const { return *programs_.begin()->second; }

    pp_fib_geometry geometry_;
    std::map<uint16_t, std::unique_ptr<port_stage, PortStageDelete>> programs_;
    std::span<std::byte> memory_;
    pp_filter_shape filter_shape_{};
    std::span<std::byte> filter_block_;
    router::FilterView filter_view_;
    router::PublishedFilters published_{nullptr};
    pp_guard* guard_ = nullptr;
    bool guarded_;
    router::PublishedGuard published_guard_{nullptr};
    pp_order* order_ = nullptr;
    std::vector<int> sockets_;
    std::unique_ptr<router::RingReader> rings_;
    std::unique_ptr<router::RingReader> observations_;
    bool observed_;
    std::vector<Punt> punts_;
    std::vector<Bytes> written_down_;
    Bytes out_;
};

}  // namespace pktpit::test
