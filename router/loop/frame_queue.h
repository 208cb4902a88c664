// SPDX-License-Identifier: BSD-3-Clause
/// Whole frames from one thread to another, in order, through a ring of bytes: frames for the daemon from a
/// worker, and frames to send from the daemon. One producer, one consumer; neither ever waits, allocates or
/// locks. A frame that does not fit is refused, for the producer to count.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "bpf/abi.h"

namespace pktpit::router {

class FrameQueue {
  public:
    /// `bytes`: a power of two, of records: 8 bytes and the frame, rounded up to 8.
    explicit FrameQueue(size_t bytes);

    /// Producer: room for a record of frame_length bytes, to be filled and then published; empty: there is
    /// none.
    std::span<uint8_t> reserve(const pp_punt& head);
    /// Producer: the frame of the last reserve() is complete.
    void publish();
    /// Producer: the same in one, gathered from parts whose lengths add up to head.frame_length.
    bool push(const pp_punt& head, std::span<const std::span<const uint8_t>> parts);

    /// Consumer: calls visit(const pp_punt&, std::span<uint8_t> frame) for up to `most` records. Returns how
    /// many.
    template <class Visit>
    size_t pop(size_t most, Visit&& visit);
    [[nodiscard]] bool empty() const {
        return read_.load(std::memory_order_relaxed) == written_.load(std::memory_order_acquire);
    }

  private:
    static constexpr uint32_t wrap_mark =
        UINT32_MAX;  ///< frame_length: the next record is at the ring's start
    static size_t record_bytes(uint32_t frame_length) {
        return sizeof(pp_punt) + (size_t{frame_length} + 7) / 8 * 8;
    }

    size_t size_;
    std::unique_ptr<uint8_t[]> ring_;
    size_t reserved_ = 0;  ///< producer's own: where written_ will be
    alignas(128) std::atomic<size_t> written_ = 0;
    alignas(128) std::atomic<size_t> read_ = 0;
};

template <class Visit>
size_t FrameQueue::pop(size_t most, Visit&& visit) {
    size_t at = read_.load(std::memory_order_relaxed);
    const size_t end = written_.load(std::memory_order_acquire);
    size_t count = 0;
    while (at != end && count < most) {
        pp_punt head;
        uint8_t* record = ring_.get() + (at & (size_ - 1));
        std::memcpy(&head, record, sizeof head);
        if (head.frame_length == wrap_mark) {
            at += size_ - (at & (size_ - 1));
            continue;
        }
        visit(head, std::span<uint8_t>(record + sizeof head, head.frame_length));
        at += record_bytes(head.frame_length);
        // Handed back record by record: a slow consumer does not keep the producer out.
        read_.store(at, std::memory_order_release);
        count++;
    }
    read_.store(at, std::memory_order_release);
    return count;
}

}  // namespace pktpit::router
