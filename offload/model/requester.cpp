// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/requester.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "offload/model/fabric.h"

namespace pktpit::model {
namespace {

constexpr uint32_t write_event = 0;
constexpr uint32_t read_event = 1;
constexpr uint32_t timeout_event = 2;
constexpr uint64_t page = 4096;

uint32_t until_page_end(uint64_t address, uint32_t bytes) {
    return static_cast<uint32_t>(std::min<uint64_t>(bytes, page - address % page));
}

}  // namespace

Requester::Requester(Fabric& fabric, Port& port, NodeId node, DmaClient*& client,
                     const RequesterSettings& settings)
    : fabric_(fabric), port_(port), node_(node), client_(client), settings_(settings) {
    const uint32_t tags = std::clamp(settings.tags, 1U, 1U << tag_bits);
    tags_.resize(tags);
    for (uint32_t i = tags; i-- > 0;)
        free_tags_.push_back(i);
}

void Requester::write(uint64_t address, const std::byte* source, uint32_t bytes, const Options& options) {
    writes_.push({address, source, bytes, 0, options, {}});
    counters_.writes++;
    start_writes();
}

void Requester::write_copy(uint64_t address, std::span<const std::byte> bytes, const Options& options) {
    Write write{address, nullptr, static_cast<uint32_t>(bytes.size()), 0, options, {}};
    std::memcpy(write.copied.data(), bytes.data(), std::min(bytes.size(), inline_bytes));
    writes_.push(write);
    counters_.writes++;
    start_writes();
}

void Requester::read(uint64_t address, std::byte* destination, uint32_t bytes, const Options& options) {
    uint32_t index = static_cast<uint32_t>(read_slots_.size());
    if (free_reads_.empty()) {
        read_slots_.emplace_back();
    } else {
        index = free_reads_.back();
        free_reads_.pop_back();
    }
    read_slots_[index] = {address, destination, bytes, 0, 0, DmaResult::done, options};
    counters_.reads++;
    reads_.push(index);
    start_reads();
}

/// An operation may begin; else its time has been noted.
bool Requester::may_start(Time& next, Time& wake, uint32_t what, Time issue) {
    const Time now = fabric_.events().now();
    if (now >= next) {
        next = now + issue;
        return true;
    }
    if (wake != next) {
        wake = next;
        fabric_.events().schedule(next, *this, what);
    }
    return false;
}

void Requester::start_writes() {
    if (in_writes_) return;
    in_writes_ = true;
    while (!writes_.empty() && posted_waiting_ < settings_.backlog) {
        Write& write = writes_.front();
        if (write.options.type == TlpType::memory_write &&
            !translated(write.address + write.sent, Waiting::writes))
            break;
        if (write.sent == 0 && !may_start(next_write_, write_wake_, write_event, settings_.write_issue))
            break;
        send_piece(write);
        if (write.sent < write.bytes) continue;
        const uint64_t cookie = write.options.cookie;
        writes_.pop();
        if (cookie != no_cookie && client_) client_->dma_done(cookie, DmaResult::done);
    }
    in_writes_ = false;
}

void Requester::send_piece(Write& write) {
    const uint64_t address = write.address + write.sent;
    const uint32_t piece = until_page_end(address, std::min(write.bytes - write.sent, settings_.mps));
    Tlp* tlp = fabric_.tlps().take(write.options.type, piece);
    tlp->requester = node_;
    tlp->target =
        write.options.type == TlpType::memory_write ? fabric_.owner_of(address, piece) : fabric_.root_id();
    tlp->address = address;
    if (settings_.atc_entries > 0 && write.options.type == TlpType::memory_write)
        tlp->address_type = AddressType::translated;
    tlp->relaxed = write.options.relaxed;
    tlp->packet = write.options.packet;
    const std::byte* from = write.source ? write.source : write.copied.data();
    if (tlp->payload) std::memcpy(tlp->payload, from + write.sent, piece);
    write.sent += piece;
    counters_.bytes_written += piece;
    posted_waiting_++;
    port_.push(tlp);
}

void Requester::start_reads() {
    if (in_reads_) return;
    in_reads_ = true;
    while (!reads_.empty() && reads_waiting_ < settings_.backlog && !free_tags_.empty()) {
        const uint32_t index = reads_.front();
        if (!translated(read_slots_[index].address + read_slots_[index].asked, Waiting::reads)) break;
        if (read_slots_[index].asked == 0 &&
            !may_start(next_read_, read_wake_, read_event, settings_.read_issue))
            break;
        // Before it is sent: the answer of a link that is down comes at once.
        const uint64_t address = read_slots_[index].address + read_slots_[index].asked;
        const uint32_t left = read_slots_[index].bytes - read_slots_[index].asked;
        if (until_page_end(address, std::min(left, settings_.mrrs)) == left) reads_.pop();
        ask_piece(index);
    }
    in_reads_ = false;
}

void Requester::ask_piece(uint32_t index) {
    Read& read = read_slots_[index];
    const uint64_t address = read.address + read.asked;
    const uint32_t piece = until_page_end(address, std::min(read.bytes - read.asked, settings_.mrrs));
    const uint32_t number = free_tags_.back();
    free_tags_.pop_back();
    Tag& tag = tags_[number];
    tag = {index,
           read.asked,
           piece,
           0,
           static_cast<uint16_t>((tag.generation + 1) & 63),
           fabric_.events().now() + settings_.completion_timeout};
    read.asked += piece;
    note_tags();
    outstanding_++;
    if (!timeout_armed_) {
        timeout_armed_ = true;
        fabric_.events().schedule(tag.deadline, *this, timeout_event);
    }
    Tlp* tlp = fabric_.tlps().take(TlpType::memory_read, piece);
    tlp->requester = node_;
    tlp->target = fabric_.owner_of(address, piece);
    tlp->tag = static_cast<uint16_t>(number | tag.generation << tag_bits);
    tlp->address = address;
    if (settings_.atc_entries > 0) tlp->address_type = AddressType::translated;
    tlp->relaxed = read.options.relaxed;
    tlp->packet = read.options.packet;
    reads_waiting_++;
    port_.push(tlp);
}

/// In the device's own cache; else it has been asked for, and what waits for it begins when it comes.
bool Requester::translated(uint64_t address, Waiting who) {
    if (settings_.atc_entries == 0) return true;
    const uint64_t page = address / settings_.atc_page;
    for (Translation& kept : atc_) {
        if (kept.page != page) continue;
        kept.used = ++atc_clock_;
        return true;
    }
    const auto place = static_cast<size_t>(who);
    if (asking_[place]) return false;
    asking_[place] = true;
    asked_page_[place] = page;
    counters_.translations++;
    Tlp* tlp = fabric_.tlps().take(TlpType::memory_read, 8);
    tlp->requester = node_;
    tlp->target = fabric_.root_id();
    tlp->tag = static_cast<uint16_t>(who);
    tlp->address = page * settings_.atc_page;
    tlp->address_type = AddressType::translation_request;
    reads_waiting_++;
    port_.push(tlp);
    return false;
}

/// A refusal counts as an answer: what waits for it is refused itself then.
void Requester::translation_came(const Tlp& tlp) {
    const size_t place = tlp.tag & 1;
    if (!asking_[place]) return;
    asking_[place] = false;
    const Translation made{asked_page_[place], ++atc_clock_};
    if (atc_.size() < settings_.atc_entries)
        atc_.push_back(made);
    else
        *std::ranges::min_element(atc_, {}, &Translation::used) = made;
    place == 0 ? start_writes() : start_reads();
}

void Requester::completed(const Tlp& tlp) {
    if (tlp.address_type == AddressType::translation_request) return translation_came(tlp);
    const uint32_t number = tlp.tag & ((1U << tag_bits) - 1);
    if (number >= tags_.size() || tags_[number].read == none ||
        tags_[number].generation != tlp.tag >> tag_bits) {
        counters_.unexpected_completions++;
        return;
    }
    Tag& tag = tags_[number];
    if (tlp.status != CompletionStatus::successful) {
        counters_.unsupported_requests++;
        return end_tag(number, DmaResult::unsupported_request);
    }
    if (tlp.offset + tlp.length > tag.length) {
        counters_.unexpected_completions++;
        return;
    }
    std::byte* destination = read_slots_[tag.read].destination;
    std::memcpy(destination + tag.start + tlp.offset, tlp.payload, tlp.length);
    tag.received += tlp.length;
    counters_.bytes_read += tlp.length;
    if (tag.received == tag.length) end_tag(number, DmaResult::done);
}

void Requester::note_tags() {
    const Time now = fabric_.events().now();
    counters_.tag_time += static_cast<Time>(outstanding_) * (now - std::exchange(tags_changed_, now));
}

void Requester::end_tag(uint32_t number, DmaResult result) {
    Tag& tag = tags_[number];
    const uint32_t index = tag.read;
    Read& read = read_slots_[index];
    read.received += tag.length;
    if (result != DmaResult::done) read.result = result;
    tag.read = none;
    free_tags_.push_back(number);
    note_tags();
    outstanding_--;
    if (read.received == read.bytes) end_read(index);
    start_reads();
}

void Requester::end_read(uint32_t index) {
    const uint64_t cookie = read_slots_[index].options.cookie;
    const DmaResult result = read_slots_[index].result;
    free_reads_.push_back(index);
    if (cookie != no_cookie && client_) client_->dma_done(cookie, result);
}

void Requester::departed(const Tlp& tlp) {
    if (flow_class(tlp.type) == FlowClass::posted) {
        posted_waiting_--;
        if (!writes_.empty()) start_writes();
    } else {
        reads_waiting_--;
        if (!reads_.empty()) start_reads();
    }
}

void Requester::look_for_timeouts() {
    timeout_armed_ = false;
    const Time now = fabric_.events().now();
    for (uint32_t i = 0; i < tags_.size(); i++) {
        if (tags_[i].read == none || tags_[i].deadline > now) continue;
        counters_.timeouts++;
        end_tag(i, DmaResult::timeout);
    }
    if (outstanding_ == 0 || timeout_armed_) return;
    Time next = never;
    for (const Tag& tag : tags_)
        if (tag.read != none) next = std::min(next, tag.deadline);
    timeout_armed_ = true;
    fabric_.events().schedule(next, *this, timeout_event);
}

void Requester::on_event(uint32_t what, uint64_t) {
    if (what == timeout_event) return look_for_timeouts();
    if (what == write_event) {
        write_wake_ = never;
        start_writes();
    } else {
        read_wake_ = never;
        start_reads();
    }
}

}  // namespace pktpit::model
