// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/message_queue.h"

#include <libmnl/libmnl.h>

#include <algorithm>
#include <cstring>

#include "router/kernel/socket.h"

namespace pktpit::router::netlink {

namespace {

constexpr size_t piece_bytes = size_t{256} << 10;

size_t length_of(const std::byte* message) {
    nlmsghdr header;
    std::memcpy(&header, message, sizeof header);
    return header.nlmsg_len;
}

}  // namespace

void MessageQueue::append(std::span<const std::byte> datagram) {
    for_each_message(datagram, [this](std::span<const std::byte> message) {
        const size_t padded = MNL_ALIGN(message.size());
        if (pieces_.empty() || pieces_.back().capacity() - pieces_.back().size() < padded) {
            pieces_.emplace_back();
            pieces_.back().reserve(std::max(piece_bytes, padded));
        }
        auto& piece = pieces_.back();
        piece.insert(piece.end(), message.begin(), message.end());
        piece.resize(MNL_ALIGN(piece.size()));
        ++messages_;
        bytes_ += padded;
    });
}

std::span<const std::byte> MessageQueue::front() const {
    const std::byte* message = pieces_.front().data() + taken_;
    return {message, length_of(message)};
}

void MessageQueue::pop() {
    const size_t padded = MNL_ALIGN(front().size());
    taken_ += padded;
    --messages_;
    bytes_ -= padded;
    if (taken_ < pieces_.front().size()) return;
    taken_ = 0;
    // The last one is kept for what comes next.
    if (pieces_.size() == 1)
        pieces_.front().clear();
    else
        pieces_.pop_front();
}

void MessageQueue::clear() {
    pieces_.clear();
    taken_ = messages_ = bytes_ = 0;
}

}  // namespace pktpit::router::netlink
