// SPDX-License-Identifier: BSD-3-Clause
/// The host's side of a forwarding peer's memory: registers windows, compiles and publishes programs,
/// withdraws them. It writes nothing else there but the queues' counts (router/vfio/peer_packet_io.h).
/// The daemon's thread, but for withdraw() and turns(), which the worker uses, too.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>

#include "offload/peer_ops/device_memory.h"
#include "offload/peer_ops/forwarding.h"
#include "offload/peer_ops/windows.h"
#include "router/vfio/peer_plan.h"

namespace pktpit::router {

class PeerHost {
  public:
    /// `memory`: the daemon's part, from the start on. Ends whatever an earlier daemon left there.
    PeerHost(std::span<std::byte> memory, uint64_t bus_address, const PeerPlan& plan,
             const config::Vfio& settings);

    struct Lane {
        uint16_t port = 0;       ///< id, as the FIB image numbers it
        uint64_t registers = 0;  ///< bus address of the NIC's
        std::string name;
        uint32_t incarnation = 0;  ///< set by add()
    };
    /// A port whose NIC runs with empty rings. publish() tells the device.
    void add(uint8_t lane, Lane port);
    void remove(uint8_t lane) { lanes_.erase(lane); }
    /// All windows and programs anew, of a new generation.
    void publish();
    /// Programs of the present generation are not executed any more, until publish(). Any thread.
    void withdraw();
    /// None is, whatever is published: the memory goes away.
    void revoke();

    /// How far the device is. Any thread.
    [[nodiscard]] uint64_t turns() const { return offload::load_shared(control().turns); }
    [[nodiscard]] uint64_t generation() const { return offload::load_shared(control().generation); }
    /// The device has loaded what was published last. Else what is wrong, and where.
    [[nodiscard]] bool loaded() const;
    [[nodiscard]] std::string refusal() const;
    /// What there is to tell of the device; `silent`: it has not gone on for too long.
    struct State {
        enum Kind { loads, silent, refuses, works };
        Kind kind = loads;
        std::string refusal;
        bool operator==(const State&) const = default;
    };
    [[nodiscard]] State state(bool silent) const;
    /// Returns when the device is through with what it did at the call, or has not gone on for `limit`.
    bool wait_for_turn(std::chrono::milliseconds limit) const;

    [[nodiscard]] const offload::PeerLaneCounters& counters(uint8_t lane) const;
    [[nodiscard]] const std::map<uint8_t, Lane>& lanes() const { return lanes_; }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    [[nodiscard]] uint64_t bus_address() const { return bus_address_; }
    [[nodiscard]] const PeerPlan& plan() const { return plan_; }

  private:
    struct Writing;
    [[nodiscard]] offload::PeerControl& control() const {
        return *reinterpret_cast<offload::PeerControl*>(memory_.data());
    }
    [[nodiscard]] offload::PeerNic nic(uint8_t lane, const Lane& port) const;
    [[nodiscard]] offload::PeerFrameQueue queue(uint64_t slots, uint64_t tail, uint64_t completions) const;
    void write_queues(Writing& out) const;
    void write_lane(Writing& out, uint8_t index, const Lane& lane) const;

    std::span<std::byte> memory_;
    uint64_t bus_address_;
    PeerPlan plan_;
    const config::Vfio settings_;
    std::map<uint8_t, Lane> lanes_;
    uint32_t incarnations_ = 0;
    uint32_t queues_incarnation_ = 0;
    uint64_t generation_ = 0;
    bool revoked_ = false;
};

}  // namespace pktpit::router
