// SPDX-License-Identifier: BSD-3-Clause
/// The memory of a peer device in this process's, with an empty FIB image, and two ports planned in it; the
/// daemon's side of it is what is tested, the device's is the test's to play.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "base/huge_memory.h"
#include "fib/image.h"
#include "offload/peer_ops/device_memory.h"
#include "router/vfio/peer_host.h"

namespace pktpit::router::test {

inline constexpr uint64_t peer_bus_address = 0x4000000000;
inline constexpr size_t peer_ports = 2;

inline fib::Capacity small_image() {
    fib::Capacity capacity;
    capacity.roots = 0;
    capacity.node_bytes = 1 << 20;
    capacity.groups = 64;
    capacity.buckets = 4096;
    capacity.adjacencies = 64;
    return capacity;
}

struct PeerRig {
    explicit PeerRig(uint32_t patience_ms = 20) {
        settings.slot_bytes = 2048;
        settings.rx_descriptors = 64;
        settings.tx_descriptors = 64;
        settings.peer = config::Peer{.queue_frames = 16, .patience_ms = patience_ms};
        const pp_fib_geometry geometry = fib::plan_geometry(small_image());
        plan = plan_peer_memory(settings, geometry.image_bytes, peer_ports);
        owner = std::move(*HugeMemory::map(plan.end));
        image =
            std::make_unique<fib::FibImage>(memory().subspan(plan.image, plan.image_bytes), geometry, [] {});
    }

    [[nodiscard]] std::span<std::byte> memory() const { return owner.bytes().first(plan.end); }
    [[nodiscard]] offload::PeerControl& control() const {
        return *reinterpret_cast<offload::PeerControl*>(memory().data());
    }
    template <class T>
    [[nodiscard]] T& at(uint64_t offset) const {
        return *reinterpret_cast<T*>(memory().data() + offset);
    }
    /// The daemon's, which knows of the ports' parts no more than their places.
    [[nodiscard]] std::unique_ptr<PeerHost> host() const {
        return std::make_unique<PeerHost>(memory().first(plan.ports), peer_bus_address, plan, settings);
    }
    static PeerHost::Lane lane(uint16_t port) {
        return {port, registers(port), "p" + std::to_string(port), 0};
    }
    static uint64_t registers(uint16_t port) { return 0x90000000 + port * 0x20000ULL; }
    void device_goes_on() const {
        offload::store_shared(control().turns, offload::load_shared(control().turns) + 1);
    }

    config::Vfio settings;
    PeerPlan plan;
    HugeMemory owner;
    std::unique_ptr<fib::FibImage> image;
};

/// A device that makes a turn every 200 µs for as long as this lives.
class TurningDevice {
  public:
    explicit TurningDevice(offload::PeerControl& control)
        : thread_([this, &control] {
              while (!ended_) {
                  offload::store_shared(control.turns, offload::load_shared(control.turns) + 1);
                  std::this_thread::sleep_for(std::chrono::microseconds(200));
              }
          }) {}
    ~TurningDevice() {
        ended_ = true;
        thread_.join();
    }
    TurningDevice(const TurningDevice&) = delete;
    TurningDevice& operator=(const TurningDevice&) = delete;

  private:
    std::atomic<bool> ended_ = false;
    std::thread thread_;
};

}  // namespace pktpit::router::test
