// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/frame_queue.h"

#include <bit>
#include <cassert>

namespace pktpit::router {

FrameQueue::FrameQueue(size_t bytes) : size_(bytes), ring_(std::make_unique<uint8_t[]>(bytes)) {
    assert(std::has_single_bit(bytes));
}

std::span<uint8_t> FrameQueue::reserve(const pp_punt& head) {
    const size_t needed = record_bytes(head.frame_length);
    size_t at = written_.load(std::memory_order_relaxed);
    const size_t free = size_ - (at - read_.load(std::memory_order_acquire));
    const size_t to_end = size_ - (at & (size_ - 1));
    // A record lies in one piece: where the ring's end is too near, it begins at the ring's start.
    const size_t skipped = needed > to_end ? to_end : 0;
    if (skipped + needed > free) return {};
    if (skipped != 0) {
        const pp_punt mark{0, 0, 0, wrap_mark};
        std::memcpy(ring_.get() + (at & (size_ - 1)), &mark, sizeof mark);
        at += skipped;
    }
    uint8_t* record = ring_.get() + (at & (size_ - 1));
    std::memcpy(record, &head, sizeof head);
    reserved_ = at + needed;
    return {record + sizeof head, head.frame_length};
}

void FrameQueue::publish() {
    written_.store(reserved_, std::memory_order_release);
}

bool FrameQueue::push(const pp_punt& head, std::span<const std::span<const uint8_t>> parts) {
    const auto frame = reserve(head);
    if (frame.empty()) return false;
    size_t at = 0;
    for (const auto& part : parts) {
        if (part.empty()) continue;  // which may be at no address
        std::memcpy(frame.data() + at, part.data(), part.size());
        at += part.size();
    }
    assert(at == frame.size());
    publish();
    return true;
}

}  // namespace pktpit::router
