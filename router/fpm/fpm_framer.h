// SPDX-License-Identifier: BSD-3-Clause
/// A stream of FPM frames (FRR, fpm/fpm.h) → netlink messages. A frame is version (1), type (1: netlink, 2:
/// protobuf) and length, 2 bytes in network order that count these 4 as well; then netlink messages back to
/// back. Pure; one thread. The bytes are foreign: whatever they say, nothing is read outside of them, and
/// after an Error nothing more, since where the next frame begins is not known any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

class FpmFramer {
  public:
    FpmFramer() : buffer_(capacity / sizeof(uint32_t)) {}

    /// Where the next bytes of the stream go: room for a whole frame, once frame() has said that there is
    /// none.
    [[nodiscard]] std::span<std::byte> room();
    /// So many of them have come.
    void filled(size_t bytes) { end_ += bytes; }

    /// The netlink messages of the next whole frame, at an address divisible by 4, valid until the next call
    /// of anything here; empty: more bytes are needed.
    Result<std::span<const std::byte>> frame();
    /// Bytes of a frame that has not come whole.
    [[nodiscard]] size_t waiting() const { return end_ - begin_; }
    [[nodiscard]] uint64_t frames() const { return frames_; }

  private:
    static constexpr size_t capacity = size_t{256} * 1024;
    [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(buffer_.data()); }

    std::vector<uint32_t> buffer_;
    std::vector<uint32_t> aligned_;  ///< a frame that begins at an odd place of `buffer_`
    size_t begin_ = 0;
    size_t end_ = 0;
    uint64_t frames_ = 0;
};

/// Calls visit(one message with its nlmsghdr) for each message of a frame. An Error if one is longer than
/// what is left, or if what is left is too short for one; those before it have been visited then.
Result<void> for_each_fpm_message(std::span<const std::byte> frame,
                                  const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace pktpit::router
