// SPDX-License-Identifier: BSD-3-Clause
/// One end of a link: its transmitter, with queues by class, ordering rules and the credits that the other
/// end's receiver has advertised; and the receiver's side of giving credits back. What is sent is counted by
/// type. Used by nodes; one thread.
#pragma once

#include <vector>

#include "offload/model/event_queue.h"
#include "offload/model/wire_format.h"

namespace pktpit::model {

class Node;
class Tracer;

/// One direction of a link.
struct LinkCounters {
    std::array<uint64_t, tlp_types> tlps{};
    std::array<uint64_t, tlp_types> wire_bytes{};
    std::array<uint64_t, tlp_types> payload_bytes{};
    uint64_t dllp_bytes = 0;   ///< of DataLink::dllps
    uint64_t discarded = 0;    ///< TLPs: the link was down
    uint64_t overtakings = 0;  ///< posted TLPs that passed posted ones, by relaxed ordering
    Time busy = 0;

    [[nodiscard]] uint64_t all_tlps() const;
    [[nodiscard]] uint64_t all_wire_bytes() const;  ///< without DLLPs
    [[nodiscard]] uint64_t all_payload_bytes() const;
    bool operator==(const LinkCounters&) const = default;
};

class Port : public Actor {
  public:
    /// `sources`: how many queues compete for the link, one for each port that TLPs come from.
    Port(EventQueue& events, Node& owner, uint16_t index, size_t sources);
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// `credits`: what `peer` advertises.
    void connect(Port& peer, const LinkSettings& settings, const CreditLimits& credits);

    /// Into the queue of a source; sent as soon as link, credits and ordering rules let it.
    void push(Tlp* tlp, size_t source = 0);
    /// Of TLPs that came in here: there is room again.
    void release(FlowClass flow, uint32_t data);
    void release(const Tlp& tlp) { release(flow_class(tlp.type), data_credits(tlp)); }
    /// Down: what is queued, and all that comes, is discarded (Node::undeliverable).
    void set_up(bool up);

    [[nodiscard]] bool up() const { return up_; }
    [[nodiscard]] uint16_t index() const { return index_; }
    [[nodiscard]] Node& owner() const { return owner_; }
    [[nodiscard]] Port* peer() const { return peer_; }
    [[nodiscard]] const WireFormat& wire() const { return wire_; }
    [[nodiscard]] const LinkSettings& settings() const { return settings_; }
    [[nodiscard]] size_t queued() const { return queued_; }
    [[nodiscard]] const LinkCounters& counters() const { return counters_; }
    void clear_counters() { counters_ = {}; }
    /// All credits that were advertised are here: nothing is in the peer's buffers. Counts what is on its
    /// way.
    [[nodiscard]] bool credits_complete() const;
    /// The lowest that any credit counter has ever been; negative would be a bug.
    [[nodiscard]] int64_t least_credits() const { return least_; }
    void trace(Tracer* tracer) { tracer_ = tracer; }

    void on_event(uint32_t what, uint64_t argument) override;

  private:
    struct Source {
        std::array<TlpFifo, flow_classes> fifo;
        [[nodiscard]] bool empty() const { return fifo[0].empty() && fifo[1].empty() && fifo[2].empty(); }
    };
    struct Choice {
        Tlp* tlp = nullptr;
        Tlp* before = nullptr;
        size_t source = 0;
    };
    struct Return {
        Time at;
        uint32_t data;
        FlowClass flow;
    };
    struct Credit {
        int64_t headers = 0;
        int64_t data = 0;
    };

    void send_what_can_be();
    [[nodiscard]] Choice choose() const;
    [[nodiscard]] Choice choose_of(size_t source) const;
    [[nodiscard]] bool affordable(const Tlp& tlp) const;
    void take_returns();
    void transmit(const Choice& choice);
    Time data_link_delay();
    void owe_dllps(Time at);
    void wake_at(Time at);
    void discard_all();

    EventQueue& events_;
    Node& owner_;
    uint16_t index_;
    Port* peer_ = nullptr;
    LinkSettings settings_;
    WireFormat wire_;
    bool up_ = true;

    std::vector<Source> sources_;
    uint64_t occupied_ = 0;  ///< bit i: sources_[i] has something
    size_t last_ = 0;        ///< source that was served last
    size_t queued_ = 0;
    uint64_t stamp_ = 0;
    Time free_at_ = 0;
    Time wake_ = never;

    CreditLimits limits_;
    std::array<Credit, flow_classes> credits_;
    int64_t least_ = 0;
    std::vector<Return> returns_;  ///< ring, ascending in time
    size_t first_return_ = 0;
    size_t pending_returns_ = 0;

    Time dllps_due_ = never;
    Time next_ack_ = 0;
    LinkCounters counters_;
    Tracer* tracer_ = nullptr;
};

}  // namespace pktpit::model
