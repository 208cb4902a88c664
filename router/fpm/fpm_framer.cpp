// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_framer.h"

#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace pktpit::router {
namespace {

constexpr size_t protocol_version = 1;
constexpr size_t type_netlink = 1;
constexpr size_t type_protobuf = 2;
constexpr size_t header_bytes = 4;
constexpr size_t largest_frame = 0xffff;

std::string number(size_t value) {
    return std::to_string(value);
}

}  // namespace

std::span<std::byte> FpmFramer::room() {
    if (capacity - end_ < largest_frame) {
        std::memmove(bytes(), bytes() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    return {bytes() + end_, capacity - end_};
}

Result<std::span<const std::byte>> FpmFramer::frame() {
    const std::byte* head = bytes() + begin_;
    const size_t there = end_ - begin_;
    const auto octet = [&](size_t at) { return std::to_integer<size_t>(head[at]); };
    const auto refuse = [&](std::string what, std::string expected, std::string hint) {
        return fail("frame " + number(frames_ + 1), std::move(what), std::move(expected), std::move(hint));
    };
    if (there >= 1 && octet(0) != protocol_version)
        return refuse("FPM version " + number(octet(0)), "version 1",
                      "is it FRR's zebra that connects here?");
    if (there >= 2 && octet(1) != type_netlink)
        return refuse("message type " + number(octet(1)), "type 1 (netlink)",
                      octet(1) == type_protobuf ? "zebra -M fpm:netlink, or -M dplane_fpm_nl" : "");
    if (there < header_bytes) return std::span<const std::byte>{};
    const size_t length = octet(2) << 8 | octet(3);
    if (length <= header_bytes)
        return refuse("length " + number(length), "more than its header of 4 bytes", "");
    if (there < length) return std::span<const std::byte>{};
    frames_++;
    begin_ += length;
    if (begin_ == end_) begin_ = end_ = 0;
    const std::span<const std::byte> payload(head + header_bytes, length - header_bytes);
    if (reinterpret_cast<uintptr_t>(payload.data()) % NLMSG_ALIGNTO == 0) return payload;
    aligned_.resize(largest_frame / sizeof(uint32_t) + 1);
    std::memcpy(aligned_.data(), payload.data(), payload.size());
    return std::span<const std::byte>(reinterpret_cast<const std::byte*>(aligned_.data()), payload.size());
}

Result<void> for_each_fpm_message(std::span<const std::byte> frame,
                                  const std::function<void(std::span<const std::byte>)>& visit) {
    const size_t all = frame.size();
    while (!frame.empty()) {
        const auto where = [&] {
            return "byte " + number(all - frame.size() + header_bytes) + " of the frame";
        };
        nlmsghdr header;
        if (frame.size() < sizeof header)
            return fail(where(), number(frame.size()) + " bytes are left, too few for a netlink message",
                        number(sizeof header) + " or more");
        std::memcpy(&header, frame.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > frame.size())
            return fail(where(), "a netlink message of " + number(header.nlmsg_len) + " bytes",
                        number(sizeof header) + " to " + number(frame.size()) + " bytes");
        visit(frame.first(header.nlmsg_len));
        frame = frame.subspan(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), frame.size()));
    }
    return {};
}

}  // namespace pktpit::router
