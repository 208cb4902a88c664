// SPDX-License-Identifier: BSD-3-Clause
/// Netlink messages that were read and wait to be handled, oldest first. In a socket's queue a message of a
/// hundred bytes takes a kilobyte of kernel memory, and what does not fit is lost; here it takes its length.
/// Memory is given back in pieces of 256 KiB as messages are taken. Used by NetlinkKernel alone; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace pktpit::router::netlink {

class MessageQueue {
  public:
    /// A datagram's messages, whole ones only.
    void append(std::span<const std::byte> datagram);
    /// The oldest message; valid until the next call of anything here. Not of an empty queue.
    [[nodiscard]] std::span<const std::byte> front() const;
    void pop();
    void clear();

    [[nodiscard]] bool empty() const { return messages_ == 0; }
    [[nodiscard]] size_t size() const { return messages_; }
    [[nodiscard]] size_t bytes() const { return bytes_; }

  private:
    std::deque<std::vector<std::byte>> pieces_;  ///< none is empty, but for an empty queue's
    size_t taken_ = 0;                           ///< bytes of the first piece
    size_t messages_ = 0;
    size_t bytes_ = 0;
};

}  // namespace pktpit::router::netlink
