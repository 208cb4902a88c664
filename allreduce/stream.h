// SPDX-License-Identifier: BSD-3-Clause
/// A worker's side of the protocol within one epoch (docs/aggregation.md): messages in, datagrams out,
/// results in, and when to send again. It has no socket and no clock: both are handed to it, so that it is
/// tested over a network that loses, doubles and reorders. Used by Worker; one thread.
///
/// Chunks are numbered through all messages of the epoch, the same at each worker. Chunk k goes to slot k mod
/// slots, in version (k / slots) mod 2, and is sent once there is a result for chunk k - slots: that the
/// slot's other version may be overwritten is what it tells the router.
///
/// A chunk is sent again when something that was sent after it has been answered for some time (RACK,
/// RFC 8985); and when nothing comes any more, the oldest one alone, since a worker that is late is no loss
/// and the router says nothing to a chunk that it has already. Only where that brings a result and nothing
/// else does, the next time-out sends two, then four.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "allreduce/message.h"
#include "allreduce/pace.h"
#include "allreduce/wire.h"

namespace pktpit::allreduce {

using Time = std::chrono::steady_clock::time_point;

/// What the router has said of the epoch, and who this is.
struct Epoch {
    uint64_t key = 0;
    uint16_t number = 0;
    uint8_t worker = 0;
    uint16_t workers = 0;
    uint16_t slots = 0;     ///< a power of two
    uint16_t elements = 0;  ///< of a chunk at most
    pa_type type = PA_INT32;
};

inline size_t bytes_of(pa_type type) {
    return type == PA_BFP16 ? 2 : 4;
}

struct StreamCounts {
    uint64_t sent = 0;      ///< chunks, the first time
    uint64_t again = 0;     ///< chunks, sent again
    uint64_t results = 0;   ///< that were waited for
    uint64_t repeated = 0;  ///< that were there already
    uint64_t ignored = 0;   ///< datagrams that are no result of this epoch
};

/// The header of a datagram; nothing: it is none of this protocol. What is behind it is not looked at.
std::optional<pa_header> read_header(std::span<const uint8_t> datagram);

class Stream {
  public:
    explicit Stream(const Epoch& epoch);

    /// Every worker adds messages of the same kinds and lengths in the same order. The number of the message.
    uint64_t add(std::unique_ptr<Message> message);
    [[nodiscard]] bool done(uint64_t message) const { return message < first_message_; }
    [[nodiscard]] bool idle() const { return messages_.empty(); }

    /// Writes a datagram that is due; its length, 0: none is now.
    size_t next(Time now, std::span<uint8_t> datagram);
    /// What came from the router. True: it brought something new.
    bool receive(std::span<const uint8_t> datagram, Time now);
    /// No more chunks under way than the socket has room for results.
    void limit_window(size_t most);
    /// When next() is worth asking again though nothing was received.
    [[nodiscard]] Time wake_at(Time now) const;

    [[nodiscard]] const StreamCounts& counts() const { return counts_; }
    [[nodiscard]] const Epoch& epoch() const { return epoch_; }

  private:
    struct Placed {
        std::unique_ptr<Message> message;
        uint32_t first = 0;  ///< number of its first chunk
        uint32_t chunks = 0;
        uint32_t left = 0;  ///< chunks without a result
    };
    struct Flight {
        Placed* of = nullptr;  ///< none: no chunk is under way in the slot
        uint32_t chunk = 0;
        uint32_t tries = 0;
        uint64_t transmission = 0;  ///< number of its last one
        Time sent;                  ///< at that time
    };
    size_t write(Flight& flight, Time now, std::span<uint8_t> datagram);
    void look_for_lost(Time now);
    void time_out(Time now);
    [[nodiscard]] std::optional<Time> lost_at(const Flight& flight) const;

    Epoch epoch_;
    std::deque<Placed> messages_;  ///< not done, in order; elements stay where they are
    uint64_t first_message_ = 0;   ///< number of the front of messages_
    uint32_t added_ = 0;           ///< chunks of all messages so far
    uint32_t next_ = 0;            ///< chunk that was not sent yet
    size_t next_in_ = 0;           ///< index in messages_ of the message that it is of
    std::vector<Flight> flights_;
    uint32_t under_way_ = 0;
    std::vector<uint16_t> lost_;  ///< slots to send again, the oldest chunk's at the end
    Time looked_;
    uint64_t transmissions_ = 0;
    uint64_t answered_ = 0;  ///< number of the newest transmission that has its result: of chunks sent once
    RoundTrips::Duration answered_after_{};
    Time progress_;        ///< of the last result, time-out, or beginning
    unsigned probes_ = 1;  ///< chunks that the next time-out sends again
    unsigned probed_ = 1;  ///< that the last one did
    RoundTrips round_trips_;
    Window window_;
    StreamCounts counts_;
};

}  // namespace pktpit::allreduce
