// SPDX-License-Identifier: BSD-3-Clause
/// The root complex: root ports, the IOMMU, main memory, and the CPU's way to devices. Requests from one root
/// port to a device (peer requests, whether ACS sent them up or the device is elsewhere) are passed on in
/// pieces where the hardware splits them, as Xeons were seen to (SmartIO, section 7.1.3 and 8). One thread.
#pragma once

#include <functional>

#include "offload/model/completions.h"
#include "offload/model/iommu.h"
#include "offload/model/main_memory.h"
#include "offload/model/node.h"
#include "offload/model/ring.h"

namespace pktpit::model {

class Fabric;

struct RootSettings {
    Time latency = 100 * nanosecond;  ///< from a TLP's last bit to the IOMMU, memory or the way out
    bool peer_to_peer = true;         ///< passes requests on from port to port; else they are unsupported
    unsigned peer_split = 0;          ///< bytes of the pieces that peer requests are cut into; 0: as they are
    unsigned peer_reads = 32;         ///< pieces of split reads outstanding
    CompletionCut completions;
    MemorySettings memory;
    IommuSettings iommu;
};

struct RootCounters {
    uint64_t memory_writes = 0, memory_reads = 0;  ///< TLPs
    uint64_t peer_requests = 0, peer_completions = 0;
    uint64_t translations = 0;  ///< that devices asked for (ATS)
    uint64_t interrupts = 0, messages = 0;
    uint64_t configured = 0;  ///< configuration writes that devices have answered
    uint64_t unsupported_requests = 0;
};

/// Who sees what devices write to main memory: the model's CPU, which polls.
class MemoryWatcher {
  public:
    virtual ~MemoryWatcher() = default;
    virtual void memory_written(uint64_t address, uint32_t bytes, uint64_t packet) = 0;
};

class RootComplex : public Node {
  public:
    RootComplex(Fabric& fabric, NodeId id, const std::string& name, size_t ports,
                const RootSettings& settings);

    [[nodiscard]] MainMemory& memory() { return memory_; }
    [[nodiscard]] const MainMemory& memory() const { return memory_; }
    [[nodiscard]] const Iommu& iommu() const { return iommu_; }
    [[nodiscard]] const RootCounters& counters() const { return counters_; }
    void watch(MemoryWatcher* watcher) { watcher_ = watcher; }
    /// Called with the MSI's data; of a message 0.
    void on_interrupt(std::function<void(uint32_t)> handler) { on_interrupt_ = std::move(handler); }

    /// The CPU stores to a device: a posted write, at most a cache line.
    void mmio_write(uint64_t address, const std::byte* bytes, uint32_t count, uint64_t packet = 0);
    /// The CPU configures a device, by one write to a register of no matter.
    void config_write(NodeId device);
    /// Called when such a write has been answered: whether there is a device.
    void on_configured(std::function<void(NodeId, bool)> handler) { on_configured_ = std::move(handler); }

    void arrive(Port& in, Tlp* tlp, Time head, Time tail) override;
    void departed(Port& out, const Tlp& tlp) override;
    void undeliverable(Port& out, Tlp* tlp) override;
    void on_event(uint32_t what, uint64_t argument) override;
    [[nodiscard]] CreditLimits advertised(const CreditLimits& wanted) const override;

  private:
    /// A read that goes on in pieces.
    struct Piece {
        NodeId requester = no_node;
        uint16_t tag = 0;
        uint32_t offset = 0;  ///< within the request
        uint32_t left = 0;    ///< bytes that have not come back
        uint64_t packet = 0;
    };
    void handle(Tlp* tlp);
    void handle_message(Tlp* tlp);
    void answer_translation(Tlp* tlp);
    void to_memory(Tlp* tlp);
    [[nodiscard]] unsigned split_for(size_t out) const;
    void to_peer(Tlp* tlp, size_t out);
    void split_write(Tlp* tlp, size_t out);
    void ask_pieces();
    void piece_completed(Tlp* tlp);
    void config_completed(const Tlp& tlp);
    void memory_write_done(Tlp* tlp);
    void memory_read_done(Tlp* tlp);
    void refuse(Tlp* tlp);
    void finish(Tlp* tlp);
    [[nodiscard]] size_t own_source() const { return ports(); }

    Fabric& fabric_;
    RootSettings settings_;
    MainMemory memory_;
    Iommu iommu_;
    RootCounters counters_;
    MemoryWatcher* watcher_ = nullptr;
    std::function<void(uint32_t)> on_interrupt_;
    std::function<void(NodeId, bool)> on_configured_;
    std::vector<Time> posted_until_;   ///< by port: when its last posted request got through
    std::vector<Time> written_until_;  ///< by port: when its last posted request was in main memory
    TlpFifo split_reads_;              ///< the first is being cut
    std::vector<Piece> pieces_;        ///< by tag
    std::vector<uint16_t> free_pieces_;
};

}  // namespace pktpit::model
