// SPDX-License-Identifier: BSD-3-Clause
/// A transaction layer packet of the fabric model, and the pool that all of them come from. A TLP is owned by
/// exactly one place at a time: a queue, a link, or the node that handles it. Its payload is one block that
/// is filled where the TLP is made and copied where it ends, and never in between. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pktpit::model {

using NodeId = uint16_t;
inline constexpr NodeId no_node = 0xffff;
inline constexpr uint16_t no_port = 0xffff;

/// What a TLP is for. An MSI is a memory write (PCIe Base 5.0, section 6.1.4), counted apart.
enum class TlpType : uint8_t {
    memory_write,
    memory_read,
    completion,  ///< without data: an error, or of a configuration write
    completion_data,
    config_read,
    config_write,
    message,
    msi,
};
inline constexpr size_t tlp_types = 8;
std::string_view to_string(TlpType type);  ///< "MWr", "MRd", …

/// Which credits it needs and which ordering rules hold for it (PCIe Base 5.0, sections 2.4.1, 2.6.1).
enum class FlowClass : uint8_t { posted, non_posted, completion };
inline constexpr size_t flow_classes = 3;
constexpr FlowClass flow_class(TlpType type) {
    switch (type) {
        case TlpType::memory_read:
        case TlpType::config_read:
        case TlpType::config_write:
            return FlowClass::non_posted;
        case TlpType::completion:
        case TlpType::completion_data:
            return FlowClass::completion;
        default:
            return FlowClass::posted;
    }
}
constexpr bool has_data(TlpType type) {
    return type == TlpType::memory_write || type == TlpType::completion_data ||
           type == TlpType::config_write || type == TlpType::msi;
}

enum class CompletionStatus : uint8_t { successful, unsupported_request, completer_abort };

/// PCIe's address type (Base 5.0, section 10.2): who has translated, or asks for it.
enum class AddressType : uint8_t { untranslated, translation_request, translated };

struct Tlp {
    TlpType type = TlpType::memory_write;
    CompletionStatus status = CompletionStatus::successful;
    AddressType address_type = AddressType::untranslated;  ///< of a completion: its request's
    bool relaxed = false;                                  ///< the relaxed ordering attribute
    bool through_root = false;  ///< the root complex has seen it: ACS does not send it up again
    NodeId requester = no_node;
    NodeId target = no_node;     ///< node that it is for; no_node: an address of nobody
    uint16_t tag = 0;            ///< of the request; with `requester` it says what a completion is for
    uint16_t ingress = no_port;  ///< port of the present node whose buffer it occupies
    uint32_t held = 0;           ///< data credits that it occupies there
    uint64_t address = 0;
    uint32_t length = 0;      ///< bytes of payload, or bytes asked for
    uint32_t offset = 0;      ///< completion: its first byte's place within the request
    uint32_t rest = 0;        ///< root complex: bytes of a split read that have not been asked for yet
    uint32_t wire_bytes = 0;  ///< on the link it came by
    uint64_t stamp = 0;       ///< order of arrival in its queue
    uint64_t packet = 0;      ///< packet that it belongs to, for the tracer; 0: none
    std::byte* payload = nullptr;
    Tlp* next = nullptr;
};

/// Never gives memory back while it lives; counts what is out.
class TlpPool {
  public:
    static constexpr size_t block_bytes = 4096;  ///< the largest Max_Payload_Size

    /// With room for `length` bytes of payload if the type has some.
    Tlp* take(TlpType type, uint32_t length) {
        if (!free_) grow();
        Tlp* tlp = free_;
        free_ = tlp->next;
        std::byte* payload = has_data(type) ? take_block() : nullptr;
        *tlp = Tlp{};
        tlp->type = type;
        tlp->length = length;
        tlp->payload = payload;
        out_++;
        return tlp;
    }
    void give(Tlp* tlp) {
        if (tlp->payload) blocks_.push_back(tlp->payload);
        tlp->payload = nullptr;
        tlp->next = free_;
        free_ = tlp;
        out_--;
    }
    [[nodiscard]] uint64_t out() const { return out_; }

  private:
    std::byte* take_block() {
        if (blocks_.empty()) grow_blocks();
        std::byte* block = blocks_.back();
        blocks_.pop_back();
        return block;
    }
    void grow();
    void grow_blocks();

    Tlp* free_ = nullptr;
    uint64_t out_ = 0;
    std::vector<std::byte*> blocks_;
    std::vector<std::unique_ptr<std::array<Tlp, 256>>> tlps_;
    std::vector<std::unique_ptr<std::byte[]>> memory_;
};

/// First in, first out, through Tlp::next.
class TlpFifo {
  public:
    [[nodiscard]] bool empty() const { return !head_; }
    [[nodiscard]] Tlp* front() const { return head_; }
    void push(Tlp* tlp) {
        tlp->next = nullptr;
        (head_ ? tail_->next : head_) = tlp;
        tail_ = tlp;
    }
    Tlp* pop() { return take_after(nullptr); }
    /// The one behind `before` (null: the first).
    Tlp* take_after(Tlp* before) {
        Tlp* tlp = before ? before->next : head_;
        (before ? before->next : head_) = tlp->next;
        if (tail_ == tlp) tail_ = before;
        tlp->next = nullptr;
        return tlp;
    }

  private:
    Tlp* head_ = nullptr;
    Tlp* tail_ = nullptr;
};

}  // namespace pktpit::model
