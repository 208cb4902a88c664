// SPDX-License-Identifier: BSD-3-Clause
/// A DMA engine: cuts writes by Max_Payload_Size and reads by Max_Read_Request_Size, never across 4 KiB (PCIe
/// Base 5.0, section 2.2.7), keeps several reads outstanding by their tags, and puts what completions bring
/// where it was wanted. Writes leave in the order they were asked for. One thread.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "offload/model/event_queue.h"
#include "offload/model/ring.h"
#include "offload/model/tlp.h"

namespace pktpit::model {

class Fabric;
class Port;

enum class DmaResult : uint8_t { done, unsupported_request, timeout };

/// Who asked for DMA.
class DmaClient {
  public:
    virtual ~DmaClient() = default;
    /// A write: its last TLP is on the link, and its source may be used again. A read: all bytes are there.
    virtual void dma_done(uint64_t cookie, DmaResult result) = 0;
};

struct RequesterSettings {
    unsigned tags = 32;  ///< reads outstanding, in TLPs: at most 1,024
    unsigned mps = 256;
    unsigned mrrs = 512;
    Time write_issue = 0;  ///< from the start of one operation to that of the next
    Time read_issue = 0;
    unsigned backlog = 4;  ///< TLPs of a class that may wait for the link
    Time completion_timeout = 50 * millisecond;
    unsigned atc_entries = 0;  ///< translations that the device keeps (ATS); 0: it asks for none
    uint64_t atc_page = 4096;
};

struct RequesterCounters {
    uint64_t writes = 0, reads = 0;  ///< operations
    uint64_t bytes_written = 0, bytes_read = 0;
    uint64_t unsupported_requests = 0, timeouts = 0, unexpected_completions = 0;
    uint64_t translations = 0;  ///< that it asked for
    Time tag_time = 0;          ///< of all tags together, in use; up to the last change
};

class Requester : public Actor {
  public:
    static constexpr size_t inline_bytes = 32;
    static constexpr uint64_t no_cookie = ~uint64_t{0};  ///< dma_done() is not called

    Requester(Fabric& fabric, Port& port, NodeId node, DmaClient*& client, const RequesterSettings& settings);

    struct Options {
        uint64_t cookie = no_cookie;
        uint64_t packet = 0;
        bool relaxed = false;
        TlpType type = TlpType::memory_write;  ///< of a write: memory_write, msi or message
    };
    /// `source` stays valid and unchanged until dma_done().
    void write(uint64_t address, const std::byte* source, uint32_t bytes, const Options& options);
    /// At most inline_bytes, copied.
    void write_copy(uint64_t address, std::span<const std::byte> bytes, const Options& options);
    void read(uint64_t address, std::byte* destination, uint32_t bytes, const Options& options);

    /// For the endpoint: a completion has come in, and stays the caller's; a TLP of ours has left.
    void completed(const Tlp& tlp);
    void departed(const Tlp& tlp);

    [[nodiscard]] const RequesterCounters& counters() const { return counters_; }
    [[nodiscard]] bool idle() const { return writes_.empty() && reads_.empty() && outstanding_ == 0; }
    [[nodiscard]] const RequesterSettings& settings() const { return settings_; }
    [[nodiscard]] size_t writes_waiting() const { return writes_.size(); }
    [[nodiscard]] size_t reads_waiting() const { return reads_.size(); }
    void on_event(uint32_t what, uint64_t argument) override;

  private:
    struct Write {
        uint64_t address = 0;
        const std::byte* source = nullptr;  ///< null: `copied`
        uint32_t bytes = 0;
        uint32_t sent = 0;
        Options options;
        std::array<std::byte, inline_bytes> copied{};
    };
    struct Read {
        uint64_t address = 0;
        std::byte* destination = nullptr;
        uint32_t bytes = 0;
        uint32_t asked = 0;
        uint32_t received = 0;
        DmaResult result = DmaResult::done;
        Options options;
    };
    struct Tag {
        uint32_t read = none;
        uint32_t start = 0;  ///< within the read
        uint32_t length = 0;
        uint32_t received = 0;
        uint16_t generation = 0;
        Time deadline = 0;
    };
    static constexpr uint32_t none = ~0U;
    static constexpr unsigned tag_bits = 10;

    /// Who waits for a translation: writes in their order, and reads in theirs.
    enum class Waiting : uint16_t { writes, reads };
    struct Translation {
        uint64_t page = 0;
        uint64_t used = 0;
    };
    void start_writes();
    void start_reads();
    bool translated(uint64_t address, Waiting who);
    void translation_came(const Tlp& tlp);
    bool may_start(Time& next, Time& wake, uint32_t what, Time issue);
    void send_piece(Write& write);
    void ask_piece(uint32_t index);
    void end_tag(uint32_t tag, DmaResult result);
    void note_tags();
    void end_read(uint32_t index);
    void look_for_timeouts();

    Fabric& fabric_;
    Port& port_;
    NodeId node_;
    DmaClient*& client_;
    RequesterSettings settings_;
    RequesterCounters counters_;
    Ring<Write> writes_;
    Ring<uint32_t> reads_;  ///< indices of those that have not been asked for to the end
    std::vector<Read> read_slots_;
    std::vector<uint32_t> free_reads_;
    std::vector<Tag> tags_;
    std::vector<uint32_t> free_tags_;
    size_t outstanding_ = 0;  ///< tags in use
    Time tags_changed_ = 0;
    std::vector<Translation> atc_;  ///< least recently used goes
    uint64_t atc_clock_ = 0;
    std::array<bool, 2> asking_{};  ///< by Waiting
    std::array<uint64_t, 2> asked_page_{};
    size_t posted_waiting_ = 0;
    size_t reads_waiting_ = 0;
    Time next_write_ = 0, next_read_ = 0;
    Time write_wake_ = never, read_wake_ = never;
    bool timeout_armed_ = false;
    bool in_writes_ = false, in_reads_ = false;
};

}  // namespace pktpit::model
