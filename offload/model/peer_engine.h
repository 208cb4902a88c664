// SPDX-License-Identifier: BSD-3-Clause
/// The part of a modelled NIC that executes peer operations (offload/peer_ops): it loads programs that were
/// decoded and verified, and executes each step over the fabric with the NIC's own DMA engine; the CPU has no
/// part in it. A lane for each egress device: a poll that waits holds up its own lane alone. One thread.
///
/// A fence: writes behind it have no relaxed ordering, so that they pass nothing on the same way (PCIe Base
/// 5.0, table 2-40); for every other device that was written to, a read of one double word pushes the writes
/// before the lane goes on. It holds to the end of the launch.
#pragma once

#include <optional>

#include "offload/model/fabric.h"
#include "offload/peer_ops/operation.h"
#include "offload/peer_ops/verifier.h"
#include "offload/peer_ops/windows.h"

namespace pktpit::model {

struct PeerEngineSettings {
    unsigned lanes = 1;
    Time operation_time = 0;                ///< the engine's, for each operation of any lane
    Time poll_interval = 500 * nanosecond;  ///< between reads of memory that is not the device's own
    Time poll_timeout = 10 * millisecond;
    offload::PeerVerifyOptions verify;
};

/// A packet that a program's packet section is executed for.
struct PeerPacket {
    uint64_t offset = 0;  ///< of its block in the device's memory; unchanged until dma_done(cookie)
    uint32_t length = 0;
    uint64_t cookie = 0;  ///< of its block's DMA
    uint64_t packet = 0;  ///< for the tracer
};

struct PeerEngineCounters {
    uint64_t launches = 0, operations = 0;
    uint64_t copies = 0, stores = 0, fences = 0, doorbells = 0;
    uint64_t flushes = 0;  ///< reads that fences needed
    uint64_t polls = 0;    ///< looked at and found not to be so yet
    uint64_t stale = 0;    ///< launches that were refused: the program is of an older generation, or none
    uint64_t refused = 0;  ///< programs that were not loaded
    uint64_t failed = 0;   ///< launches that ended early

    PeerEngineCounters& operator+=(const PeerEngineCounters& other);
};

/// How a launch ended.
struct PeerOutcome {
    bool done = true;
    size_t packets = 0;  ///< whose section was executed to its end
};

class PeerEngineClient {
  public:
    virtual ~PeerEngineClient() = default;
    virtual void launch_done(unsigned lane, const PeerOutcome& outcome) = 0;
};

class PeerEngine : public Actor {
  public:
    /// DMA cookies from here on are the engine's: whoever is the endpoint's client hands them to dma_done().
    static constexpr uint64_t first_cookie = uint64_t{15} << 56;
    static constexpr uint64_t last_cookie = (uint64_t{16} << 56) - 1;

    PeerEngine(Fabric& fabric, Endpoint& endpoint, PeerEngineClient& client,
               const PeerEngineSettings& settings);

    /// What programs may reach. Programs that are loaded were verified with the windows of then.
    [[nodiscard]] offload::PeerWindows& windows() { return windows_; }
    /// Replaces the program of the egress that it names; what is running goes on with the old one. Errors:
    /// decode_peer_program()'s, verify()'s, an egress without a lane.
    Result<void> load(std::span<const std::byte> bytes);
    /// Programs of an older generation are not launched any more.
    void set_generation(uint64_t generation) { generation_ = generation; }

    enum class Launch : uint8_t { begun, busy, stale };
    /// `sequence`: of the first packet. launch_done() is called at its end, never from within.
    Launch launch(unsigned lane, uint64_t sequence, std::span<const PeerPacket> packets);
    [[nodiscard]] bool busy(unsigned lane) const { return lanes_[lane].running; }
    [[nodiscard]] bool ready(unsigned lane) const;

    /// Somebody wrote into the device's memory: polls look again.
    void memory_written();
    void dma_done(uint64_t cookie, DmaResult result);
    void on_event(uint32_t what, uint64_t argument) override;

    [[nodiscard]] const PeerEngineCounters& counters() const { return counters_; }
    [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }

  private:
    struct Lane {
        std::optional<offload::PeerProgram> program;
        offload::PeerProgram executed;  ///< a copy: it may be replaced meanwhile
        std::vector<PeerPacket> packets;
        uint64_t sequence = 0;
        size_t packet = 0;   ///< at hand; packets.size(): the commit section
        size_t next = 0;     ///< operation
        uint64_t epoch = 0;  ///< of its polls: a timeout of an earlier one means nothing
        bool running = false;
        bool fenced = false;
        bool waiting = false;  ///< for the device's own memory to be written
        Time poll_began = never;
        unsigned flushing = 0;
        bool flush_failed = false;
        std::byte read[4]{};  ///< what a poll of others' memory found
        std::byte flushed[4]{};
        std::vector<std::pair<NodeId, uint64_t>> written;  ///< since the fence: device, an address there
    };

    void schedule(unsigned index);
    void step(unsigned index);
    void execute(unsigned index, const offload::PeerOperation& operation);
    void write(unsigned index, const offload::PeerOperation& operation);
    void fence(unsigned index);
    void poll(unsigned index, const offload::PeerOperation& operation);
    void judge(unsigned index, uint32_t found);
    void advance(unsigned index);
    void finish(unsigned index, bool done);
    [[nodiscard]] uint64_t address_of(const Lane& lane, const offload::PeerOperation& operation) const;
    [[nodiscard]] uint64_t value_of(const Lane& lane, const offload::PeerOperation& operation) const;
    [[nodiscard]] NodeId next_target(const Lane& lane) const;
    void trace(const Lane& lane, std::string_view what);

    Fabric& fabric_;
    Endpoint& endpoint_;
    PeerEngineClient& client_;
    PeerEngineSettings settings_;
    offload::PeerWindows windows_;
    std::vector<Lane> lanes_;
    uint64_t generation_ = 0;
    Time free_at_ = 0;
    PeerEngineCounters counters_;
    std::string last_refusal_;
};

}  // namespace pktpit::model
