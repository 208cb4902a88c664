// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/root_complex.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "offload/model/fabric.h"

namespace pktpit::model {
namespace {

constexpr uint32_t arrived = 0;
constexpr uint32_t write_done = 1;
constexpr uint32_t read_done = 2;
constexpr uint16_t config_tag = 0x8000;  // and the device; pieces have smaller ones

uint64_t as_argument(Tlp* tlp) {
    return std::bit_cast<uint64_t>(tlp);
}

}  // namespace

RootComplex::RootComplex(Fabric& fabric, NodeId id, const std::string& name, size_t ports,
                         const RootSettings& settings)
    : Node(id, name),
      fabric_(fabric),
      settings_(settings),
      memory_(settings.memory),
      iommu_(settings.iommu),
      posted_until_(ports),
      written_until_(ports) {
    for (size_t i = 0; i < ports; i++)
        add_port(fabric.events(), ports + 1);
    pieces_.resize(std::clamp(settings.peer_reads, 1U, 1024U));
    for (size_t i = pieces_.size(); i-- > 0;)
        free_pieces_.push_back(static_cast<uint16_t>(i));
}

CreditLimits RootComplex::advertised(const CreditLimits& wanted) const {
    CreditLimits limits = wanted;
    limits[static_cast<size_t>(FlowClass::completion)] = {};
    return limits;
}

void RootComplex::arrive(Port& in, Tlp* tlp, Time, Time tail) {
    tlp->ingress = in.index();
    tlp->held = data_credits(*tlp);
    const FlowClass flow = flow_class(tlp->type);
    Time ready = tail + settings_.latency;
    if (flow != FlowClass::completion) {
        if (tlp->address_type != AddressType::translated) ready = iommu_.translate(ready, tlp->address);
        // Posted requests stay in order, and reads behind them; relaxed ordering lets go on what has been
        // translated.
        Time& until = posted_until_[in.index()];
        if (flow == FlowClass::non_posted || !tlp->relaxed) ready = std::max(ready, until);
        if (flow == FlowClass::posted) until = std::max(until, ready);
    }
    fabric_.events().schedule(ready, *this, arrived, as_argument(tlp));
}

void RootComplex::on_event(uint32_t what, uint64_t argument) {
    Tlp* tlp = std::bit_cast<Tlp*>(argument);
    if (what == arrived)
        handle(tlp);
    else if (what == write_done)
        memory_write_done(tlp);
    else
        memory_read_done(tlp);
}

void RootComplex::handle(Tlp* tlp) {
    tlp->through_root = true;
    if (tlp->type == TlpType::msi || tlp->type == TlpType::message) return handle_message(tlp);
    if (tlp->address_type == AddressType::translation_request) return answer_translation(tlp);
    const bool completion = flow_class(tlp->type) == FlowClass::completion;
    if (tlp->target == id()) {
        if (completion)
            piece_completed(tlp);
        else
            to_memory(tlp);
        return;
    }
    const int out = fabric_.port_to(id(), tlp->target);
    if (out < 0 || (!completion && !settings_.peer_to_peer)) return refuse(tlp);
    (completion ? counters_.peer_completions : counters_.peer_requests)++;
    to_peer(tlp, static_cast<size_t>(out));
}

void RootComplex::handle_message(Tlp* tlp) {
    (tlp->type == TlpType::msi ? counters_.interrupts : counters_.messages)++;
    uint32_t data = 0;
    if (tlp->payload) std::memcpy(&data, tlp->payload, std::min<size_t>(sizeof(data), tlp->length));
    if (on_interrupt_) on_interrupt_(data);
    finish(tlp);
}

/// Eight bytes that say where the page is: where it was, since translation is the identity.
void RootComplex::answer_translation(Tlp* tlp) {
    static constexpr std::array<std::byte, 8> entry{};
    counters_.translations++;
    tlp->address = 0;
    tlp->length = entry.size();
    complete_read(fabric_.tlps(), port(tlp->ingress), own_source(), *tlp, entry.data(),
                  settings_.completions);
    finish(tlp);
}

/// CXL.mem moves lines, whatever this root complex does with other peers' requests.
unsigned RootComplex::split_for(size_t out) const {
    return port(out).settings().cxl ? 64 : settings_.peer_split;
}

void RootComplex::to_memory(Tlp* tlp) {
    if (!memory_.contains(tlp->address, tlp->length)) return refuse(tlp);
    const Time now = fabric_.events().now();
    if (tlp->type == TlpType::memory_write) {
        counters_.memory_writes++;
        // What hits the cache is there sooner than what missed it before, and is seen behind it all the same.
        Time done = memory_.write(now, tlp->address, tlp->length);
        if (!tlp->relaxed) done = std::max(done, written_until_[tlp->ingress]);
        written_until_[tlp->ingress] = std::max(written_until_[tlp->ingress], done);
        fabric_.events().schedule(done, *this, write_done, as_argument(tlp));
    } else if (tlp->type == TlpType::memory_read) {
        counters_.memory_reads++;
        // It pushes what its port wrote before.
        const Time done =
            memory_.read(std::max(now, written_until_[tlp->ingress]), tlp->address, tlp->length);
        fabric_.events().schedule(done, *this, read_done, as_argument(tlp));
    } else {
        refuse(tlp);
    }
}

void RootComplex::memory_write_done(Tlp* tlp) {
    std::memcpy(memory_.at(tlp->address), tlp->payload, tlp->length);
    if (watcher_) watcher_->memory_written(tlp->address, tlp->length, tlp->packet);
    finish(tlp);
}

void RootComplex::memory_read_done(Tlp* tlp) {
    complete_read(fabric_.tlps(), port(tlp->ingress), own_source(), *tlp, memory_.at(tlp->address),
                  settings_.completions);
    finish(tlp);
}

void RootComplex::to_peer(Tlp* tlp, size_t out) {
    const unsigned at = split_for(out);
    const bool split = at > 0 && tlp->address % at + tlp->length > at;
    if (tlp->type == TlpType::memory_read && at > 0) {
        tlp->rest = tlp->length;
        split_reads_.push(tlp);
        ask_pieces();
    } else if (tlp->type == TlpType::memory_write && split) {
        split_write(tlp, out);
    } else {
        port(out).push(tlp, tlp->ingress);
    }
}

void RootComplex::split_write(Tlp* tlp, size_t out) {
    const uint16_t ingress = tlp->ingress;
    const unsigned at = split_for(out);
    for (uint32_t done = 0; done < tlp->length;) {
        const uint64_t address = tlp->address + done;
        const auto piece = static_cast<uint32_t>(std::min<uint64_t>(tlp->length - done, at - address % at));
        Tlp* part = fabric_.tlps().take(TlpType::memory_write, piece);
        std::byte* payload = part->payload;
        *part = *tlp;
        part->payload = payload;
        part->address = address;
        part->length = piece;
        std::memcpy(payload, tlp->payload + done, piece);
        done += piece;
        // The buffer is free when the last piece has gone.
        if (done < tlp->length) part->ingress = no_port;
        port(out).push(part, ingress);
    }
    fabric_.tlps().give(tlp);
}

/// Pieces of split reads, as many as may be outstanding.
void RootComplex::ask_pieces() {
    while (!split_reads_.empty() && !free_pieces_.empty()) {
        Tlp* request = split_reads_.front();
        const uint32_t offset = request->length - request->rest;
        const uint64_t address = request->address + offset;
        const auto out = static_cast<size_t>(fabric_.port_to(id(), request->target));
        const unsigned at = split_for(out);
        const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(request->rest, at - address % at));
        const uint16_t tag = free_pieces_.back();
        free_pieces_.pop_back();
        pieces_[tag] = {request->requester, request->tag, offset, bytes, request->packet};
        Tlp* part = fabric_.tlps().take(TlpType::memory_read, bytes);
        *part = *request;
        part->requester = id();
        part->tag = tag;
        part->address = address;
        part->length = bytes;
        request->rest -= bytes;
        const uint16_t ingress = request->ingress;
        if (request->rest == 0) {
            split_reads_.pop();
            fabric_.tlps().give(request);
        } else {
            part->ingress = no_port;
        }
        port(out).push(part, ingress);
    }
}

void RootComplex::config_completed(const Tlp& tlp) {
    const bool there = tlp.status == CompletionStatus::successful;
    counters_.configured += there;
    if (on_configured_) on_configured_(tlp.tag & ~config_tag, there);
}

void RootComplex::piece_completed(Tlp* tlp) {
    if (tlp->tag & config_tag) {
        config_completed(*tlp);
    } else if (tlp->tag < pieces_.size() && pieces_[tlp->tag].left > 0) {
        Piece& piece = pieces_[tlp->tag];
        const uint16_t tag = tlp->tag;
        const bool failed = tlp->status != CompletionStatus::successful;
        piece.left -= failed ? piece.left : std::min(piece.left, tlp->length);
        Tlp* answer = fabric_.tlps().take(tlp->type, tlp->length);
        std::byte* payload = answer->payload;
        *answer = *tlp;
        answer->payload = payload;
        if (payload) std::memcpy(payload, tlp->payload, tlp->length);
        answer->requester = answer->target = piece.requester;
        answer->tag = piece.tag;
        answer->offset += piece.offset;
        answer->ingress = no_port;
        counters_.peer_completions++;
        const int out = fabric_.port_to(id(), piece.requester);
        port(static_cast<size_t>(out)).push(answer, own_source());
        if (piece.left == 0) {
            free_pieces_.push_back(tag);
            ask_pieces();
        }
    }
    finish(tlp);
}

/// For nobody, or not allowed (PCIe Base 5.0, section 2.3.1).
void RootComplex::refuse(Tlp* tlp) {
    counters_.unsupported_requests++;
    if (flow_class(tlp->type) == FlowClass::non_posted) {
        const int out = fabric_.port_to(id(), tlp->requester);
        if (out >= 0)
            port(static_cast<size_t>(out))
                .push(make_completion(fabric_.tlps(), *tlp, CompletionStatus::unsupported_request),
                      own_source());
    }
    finish(tlp);
}

/// Its way ends here.
void RootComplex::finish(Tlp* tlp) {
    if (tlp->ingress != no_port) port(tlp->ingress).release(flow_class(tlp->type), tlp->held);
    fabric_.tlps().give(tlp);
}

void RootComplex::mmio_write(uint64_t address, const std::byte* bytes, uint32_t count, uint64_t packet) {
    Tlp* tlp = fabric_.tlps().take(TlpType::memory_write, count);
    std::memcpy(tlp->payload, bytes, count);
    tlp->requester = id();
    tlp->target = fabric_.owner_of(address, count);
    tlp->address = address;
    tlp->packet = packet;
    tlp->through_root = true;
    const int out = fabric_.port_to(id(), tlp->target);
    if (out < 0) {
        counters_.unsupported_requests++;
        fabric_.tlps().give(tlp);
    } else {
        port(static_cast<size_t>(out)).push(tlp, own_source());
    }
}

void RootComplex::config_write(NodeId device) {
    Tlp* tlp = fabric_.tlps().take(TlpType::config_write, 4);
    std::memset(tlp->payload, 0, 4);
    tlp->requester = id();
    tlp->target = device;
    tlp->tag = static_cast<uint16_t>(config_tag | device);
    tlp->through_root = true;
    port(static_cast<size_t>(fabric_.port_to(id(), device))).push(tlp, own_source());
}

void RootComplex::departed(Port&, const Tlp& tlp) {
    if (tlp.ingress != no_port) port(tlp.ingress).release(flow_class(tlp.type), tlp.held);
}

void RootComplex::undeliverable(Port&, Tlp* tlp) {
    tlp->ingress = no_port;  // departed() has given its room back
    if (flow_class(tlp->type) == FlowClass::non_posted && tlp->requester == id()) {
        // A piece of a split read: its requester is told as if the device had refused.
        Tlp* answer = make_completion(fabric_.tlps(), *tlp, CompletionStatus::unsupported_request);
        fabric_.events().schedule(fabric_.events().now(), *this, arrived, as_argument(answer));
        fabric_.tlps().give(tlp);
    } else if (flow_class(tlp->type) == FlowClass::completion) {
        fabric_.tlps().give(tlp);
    } else {
        refuse(tlp);
    }
}

}  // namespace pktpit::model
