// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's Ethernet devices as a control loop sees them (router/loop/packet_io.h): a batch is the mbufs that
/// were received, a slot one's place among them, and its header is rewritten in place. Nothing behind the
/// header slice is touched, but for a frame that the host or the slow path gets, and for segments that an
/// egress driver cannot send. The worker's, but for add() and remove(), which the daemon calls while the
/// worker is paused.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <optional>
#include <vector>

#include "bpf/abi.h"
#include "offload/memory/peer_memory.h"
#include "router/dpdk/rx_sleep.h"
#include "router/forward/forward.h"
#include "router/loop/deficit_round_robin.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"

namespace pktpit::router {

class EthPacketIo final : public PortIo, public offload::BatchIo {
  public:
    struct Port {
        uint16_t id = 0;               ///< of the router
        uint16_t device = 0;           ///< of DPDK
        uint16_t tx_queue = 0;         ///< this worker's own
        std::vector<uint16_t> queues;  ///< that this worker receives from, perhaps none
        bool multi_segment = false;    ///< the driver sends mbufs of several segments
        bool interrupts = false;       ///< it is configured with receive interrupts
        bool tags_put_back = false;    ///< the driver takes tags off and puts them back as 802.1Q's
    };
    /// `pool`: of whole packets. `peer`: payload memory of the pool that payloads are split into, or null.
    /// `image`: what VLANs there are, for drivers that take tags off and do not say which protocol's; or
    /// none.
    EthPacketIo(rte_mempool* pool, const offload::PeerMemory* peer, WorkerCounters& counters,
                const ImageView& image = {})
        : pool_(pool), peer_(peer), counters_(counters), image_(image) {}

    void add(const Port& port);
    void remove(uint16_t id);
    [[nodiscard]] const std::vector<Port>& ports() const { return ports_; }
    /// Becomes readable when a port has something, or is to be asked again: for Worker::watch_interrupt().
    [[nodiscard]] int sleep_descriptor() const { return sleep_.descriptor(); }

    [[nodiscard]] offload::BatchIo* by_batch() override { return this; }
    std::span<const IngressRun> receive(PlainBatch& into) override;
    void slice(uint64_t which, std::span<offload::HeaderSlice> slices) const override;
    void submit(const PlainBatch& from, uint64_t plain,
                std::span<const offload::EgressDescriptor> others) override;

    // The same of slices, for whoever has no columns. All of a batch go back before the next is received.
    size_t receive(std::span<offload::HeaderSlice> slices) override;
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override {}  // the drivers give mbufs back themselves, as they send
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;

    [[nodiscard]] size_t readable_bytes(const offload::HeaderSlice& slice) const override {
        return held_[slice.slot.index]->data_len;
    }

    bool send(uint16_t port, std::span<const uint8_t> frame) override;
    void arm() override;
    void disarm() override;
    void look() override;

  private:
    static constexpr size_t batch = PlainBatch::most;

    /// A receive queue of a port.
    struct Source {
        uint16_t port = 0;  ///< index in ports_
        uint16_t queue = 0;
    };
    /// Up to `most` packets of all ports into held_ and `into`; returns how many.
    size_t take(size_t most, PlainBatch& into);
    /// The same of one queue, from `first` on. Their bytes are taken off `deficit`.
    size_t take_from(const Port& port, uint16_t queue, size_t first, size_t most, int64_t& deficit,
                     PlainBatch& into);
    /// Puts held_ from `first` on into columns. False: not all are writable frames of one segment, and
    /// line_up_each() has to do it. `bytes`: of all.
    bool line_up(size_t first, size_t count, PlainBatch& into, uint64_t& bytes);
    /// The same of any, which are made writable; returns how many are left.
    size_t line_up_each(const Port& port, size_t first, size_t received, PlainBatch& into, uint64_t& bytes);
    /// Makes it one whose header may be rewritten in place; null: it was dropped.
    rte_mbuf* make_writable(const Port& port, rte_mbuf* mbuf);
    /// Of a tag that was put back: the protocol that the configuration has for it.
    void name_protocol(const Port& port, rte_mbuf* mbuf) const;
    rte_mbuf* copy_of(const rte_mbuf* mbuf);
    rte_mbuf* in_one_segment(rte_mbuf* mbuf);
    /// Gathers bytes from offset `from` of the frame; false: some cannot be read.
    bool gather(const rte_mbuf* mbuf, size_t from, std::span<uint8_t> to) const;
    /// The mbuf of what an egress descriptor says becomes what is to leave.
    void apply(const offload::EgressDescriptor& descriptor);
    /// Packets `which`, each by the port egress_[index]. `as_received`: the whole batch's bits, if none of it
    /// has another length now; else 0.
    void send_held(uint64_t which, uint64_t as_received);
    /// Into tx_ and tx_index_; returns how many.
    size_t pick(uint64_t which);
    /// Of a driver that takes one segment a packet, or of no port.
    void send_whole(const Port* port, uint16_t id, uint64_t which);
    /// `indices`: in held_. `known_bytes`: of all of them, if they need not be added up.
    void transmit(const Port& port, rte_mbuf** mbufs, const uint8_t* indices, size_t count,
                  std::optional<uint64_t> known_bytes = {});
    void drop(uint16_t port, pp_verdict verdict, size_t index);
    Port* find(uint16_t id) { return by_id_[id] ? &ports_[by_id_[id] - 1U] : nullptr; }
    void index();

    rte_mempool* pool_;
    const offload::PeerMemory* peer_;
    WorkerCounters& counters_;
    ImageView image_;
    RxSleep sleep_;
    std::vector<Port> ports_;
    std::array<uint16_t, PP_MAX_PORTS> by_id_{};  ///< 1 + index in ports_
    std::vector<Source> sources_;
    DeficitRoundRobin turns_;  ///< of sources_
    // A batch, from receive() until it has gone back.
    std::array<rte_mbuf*, batch> held_{};
    std::array<uint16_t, batch> egress_{};  ///< ports that they leave by
    std::array<IngressRun, batch> runs_;
    size_t run_count_ = 0;
    uint64_t received_ = 0;   ///< a bit for each
    uint64_t bytes_ = 0;      ///< of them
    uint64_t flags_ = 0;      ///< of all of them together, ol_flags
    bool segmented_ = false;  ///< some have several segments
    // Of one doorbell.
    std::array<rte_mbuf*, batch> tx_{};
    std::array<uint8_t, batch> tx_index_{};  ///< in held_
};

}  // namespace pktpit::router
