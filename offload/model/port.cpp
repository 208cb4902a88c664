// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/port.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "offload/model/node.h"
#include "offload/model/tracer.h"

namespace pktpit::model {
namespace {

constexpr unsigned scan = 16;  // how far relaxed ordering looks past a posted TLP that waits for credits

size_t index_of(FlowClass flow) {
    return static_cast<size_t>(flow);
}

}  // namespace

uint64_t LinkCounters::all_tlps() const {
    return std::accumulate(tlps.begin(), tlps.end(), uint64_t{0});
}

uint64_t LinkCounters::all_wire_bytes() const {
    return std::accumulate(wire_bytes.begin(), wire_bytes.end(), uint64_t{0});
}

uint64_t LinkCounters::all_payload_bytes() const {
    return std::accumulate(payload_bytes.begin(), payload_bytes.end(), uint64_t{0});
}

Port::Port(EventQueue& events, Node& owner, uint16_t index, size_t sources)
    : events_(events), owner_(owner), index_(index), sources_(sources) {}

void Port::connect(Port& peer, const LinkSettings& settings, const CreditLimits& credits) {
    peer_ = &peer;
    settings_ = settings;
    wire_ = WireFormat(settings);
    limits_ = credits;
    size_t most = 1;
    for (size_t i = 0; i < flow_classes; i++) {
        credits_[i] = {limits_[i].headers, limits_[i].data};
        most += limits_[i].headers;
    }
    returns_.resize(std::bit_ceil(most));
}

void Port::push(Tlp* tlp, size_t source) {
    tlp->stamp = ++stamp_;
    sources_[source].fifo[index_of(flow_class(tlp->type))].push(tlp);
    occupied_ |= uint64_t{1} << source;
    queued_++;
    if (!up_)
        discard_all();
    else
        send_what_can_be();
}

void Port::send_what_can_be() {
    while (queued_ > 0 && up_) {
        const Time now = events_.now();
        if (now < free_at_) return wake_at(free_at_);
        take_returns();
        const Choice choice = choose();
        if (!choice.tlp) {
            if (pending_returns_ > 0) wake_at(returns_[first_return_].at);
            return;
        }
        transmit(choice);
    }
}

bool Port::affordable(const Tlp& tlp) const {
    const size_t i = index_of(flow_class(tlp.type));
    if (limits_[i].headers > 0 && credits_[i].headers < 1) return false;
    return limits_[i].data == 0 || credits_[i].data >= data_credits(tlp);
}

Port::Choice Port::choose() const {
    // Round robin: the sources behind the one that was served last come first.
    const uint64_t later = last_ + 1 < 64 ? occupied_ & (~uint64_t{0} << (last_ + 1)) : 0;
    for (uint64_t left : {later, occupied_ & ~later}) {
        for (; left != 0; left &= left - 1) {
            const Choice choice = choose_of(static_cast<size_t>(std::countr_zero(left)));
            if (choice.tlp) return choice;
        }
    }
    return {};
}

/// The oldest that may go. PCIe Base 5.0, table 2-40: nothing passes a posted request that is older, but for
/// completions and posted requests with relaxed ordering; posted requests and completions pass whatever
/// waits for credits of other classes.
Port::Choice Port::choose_of(size_t source) const {
    const auto& fifo = sources_[source].fifo;
    Choice best{nullptr, nullptr, source};
    const Tlp* posted = fifo[index_of(FlowClass::posted)].front();
    if (posted) {
        Tlp* before = nullptr;
        Tlp* tlp = fifo[index_of(FlowClass::posted)].front();
        for (unsigned i = 0; tlp && i < scan; i++, before = tlp, tlp = tlp->next) {
            if ((tlp == posted || tlp->relaxed) && affordable(*tlp)) {
                best = {tlp, before, source};
                break;
            }
        }
    }
    for (const FlowClass flow : {FlowClass::completion, FlowClass::non_posted}) {
        Tlp* tlp = fifo[index_of(flow)].front();
        if (!tlp || (best.tlp && best.tlp->stamp < tlp->stamp)) continue;
        const bool may_pass = flow == FlowClass::completion && tlp->relaxed;
        if (posted && posted->stamp < tlp->stamp && !may_pass) continue;
        if (affordable(*tlp)) best = {tlp, nullptr, source};
    }
    return best;
}

void Port::transmit(const Choice& choice) {
    Source& source = sources_[choice.source];
    Tlp* tlp = source.fifo[index_of(flow_class(choice.tlp->type))].take_after(choice.before);
    if (choice.before) counters_.overtakings++;
    if (source.empty()) occupied_ &= ~(uint64_t{1} << choice.source);
    last_ = choice.source;
    queued_--;

    Credit& credit = credits_[index_of(flow_class(tlp->type))];
    const CreditLimit& limit = limits_[index_of(flow_class(tlp->type))];
    if (limit.headers > 0) least_ = std::min(least_, --credit.headers);
    if (limit.data > 0) least_ = std::min(least_, credit.data -= data_credits(*tlp));

    const Time begin = events_.now() + data_link_delay();
    tlp->wire_bytes = wire_.bytes(*tlp);
    free_at_ = begin + wire_.time(tlp->wire_bytes);
    const auto type = static_cast<size_t>(tlp->type);
    counters_.tlps[type]++;
    counters_.wire_bytes[type] += tlp->wire_bytes;
    if (has_data(tlp->type)) counters_.payload_bytes[type] += tlp->length;
    counters_.busy += free_at_ - events_.now();

    const Time head = begin + settings_.propagation + wire_.flit_time();
    const Time tail = free_at_ + settings_.propagation + wire_.flit_time();
    if (tracer_ && tlp->packet) tracer_->sent(*this, *tlp, begin, tail);
    owner_.departed(*this, *tlp);
    if (wire_.ack_interval() > 0) peer_->owe_dllps(tail);
    peer_->owner_.arrive(*peer_, tlp, head, tail);
}

void Port::owe_dllps(Time at) {
    if (at < next_ack_) return;
    next_ack_ = at + wire_.ack_interval();
    dllps_due_ = std::min(dllps_due_, at);
    counters_.dllp_bytes += WireFormat::dllp_bytes();
}

/// DLLPs go between TLPs: how much later the next TLP starts because of those that are due.
Time Port::data_link_delay() {
    const Time now = events_.now();
    if (dllps_due_ > now) return 0;
    const Time needed = wire_.time(WireFormat::dllp_bytes());
    const Time begun = std::max(dllps_due_, free_at_);
    dllps_due_ = never;
    return begun + needed > now ? begun + needed - now : 0;
}

void Port::release(FlowClass flow, uint32_t data) {
    Port& sender = *peer_;
    const CreditLimit& limit = sender.limits_[index_of(flow)];
    if (limit.headers == 0 && limit.data == 0) return;
    if (sender.pending_returns_ == sender.returns_.size()) {
        std::rotate(sender.returns_.begin(),
                    sender.returns_.begin() + static_cast<ptrdiff_t>(sender.first_return_),
                    sender.returns_.end());
        sender.first_return_ = 0;
        sender.returns_.resize(sender.returns_.size() * 2);
    }
    const size_t mask = sender.returns_.size() - 1;
    const Time at = events_.now() + sender.settings_.credit_latency;
    sender.returns_[(sender.first_return_ + sender.pending_returns_++) & mask] = {at, data, flow};
    if (sender.queued_ > 0 && sender.wake_ == never) sender.wake_at(std::max(at, sender.free_at_));
}

void Port::take_returns() {
    const size_t mask = returns_.size() - 1;
    while (pending_returns_ > 0 && returns_[first_return_].at <= events_.now()) {
        const Return& back = returns_[first_return_];
        Credit& credit = credits_[index_of(back.flow)];
        const CreditLimit& limit = limits_[index_of(back.flow)];
        if (limit.headers > 0) credit.headers++;
        if (limit.data > 0) credit.data += back.data;
        first_return_ = (first_return_ + 1) & mask;
        pending_returns_--;
    }
}

bool Port::credits_complete() const {
    std::array<Credit, flow_classes> sum = credits_;
    for (size_t i = 0; i < pending_returns_; i++) {
        const Return& back = returns_[(first_return_ + i) & (returns_.size() - 1)];
        Credit& credit = sum[index_of(back.flow)];
        const CreditLimit& limit = limits_[index_of(back.flow)];
        if (limit.headers > 0) credit.headers++;
        if (limit.data > 0) credit.data += back.data;
    }
    for (size_t i = 0; i < flow_classes; i++)
        if (sum[i].headers != limits_[i].headers || sum[i].data != limits_[i].data) return false;
    return true;
}

void Port::wake_at(Time at) {
    if (at >= wake_) return;
    wake_ = at;
    events_.schedule(at, *this, 0, at);
}

void Port::on_event(uint32_t, uint64_t at) {
    if (at != wake_) return;  // an earlier one has been there
    wake_ = never;
    send_what_can_be();
}

void Port::set_up(bool up) {
    up_ = up;
    if (up)
        send_what_can_be();
    else
        discard_all();
}

void Port::discard_all() {
    for (Source& source : sources_) {
        for (TlpFifo& fifo : source.fifo) {
            while (!fifo.empty()) {
                Tlp* tlp = fifo.pop();
                queued_--;
                counters_.discarded++;
                owner_.departed(*this, *tlp);
                owner_.undeliverable(*this, tlp);
            }
        }
    }
    occupied_ = 0;
}

}  // namespace pktpit::model
