// SPDX-License-Identifier: BSD-3-Clause
/// Netlink messages as the kernel writes them, built with libmnl.
#pragma once

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace pktpit::router {

class MessageBuilder {
  public:
    template <class Header>
    MessageBuilder(uint16_t type, uint16_t flags, const Header& header) : buffer_(65536) {
        nlmsghdr* written = mnl_nlmsg_put_header(buffer_.data());
        written->nlmsg_type = type;
        written->nlmsg_flags = flags;
        std::memcpy(mnl_nlmsg_put_extra_header(written, sizeof header), &header, sizeof header);
    }
    MessageBuilder& u8(uint16_t type, uint8_t value) {
        return mnl_attr_put_u8(message(), type, value), *this;
    }
    MessageBuilder& u16(uint16_t type, uint16_t value) {
        return mnl_attr_put_u16(message(), type, value), *this;
    }
    MessageBuilder& u32(uint16_t type, uint32_t value) {
        return mnl_attr_put_u32(message(), type, value), *this;
    }
    MessageBuilder& text(uint16_t type, const char* value) {
        return mnl_attr_put_strz(message(), type, value), *this;
    }
    MessageBuilder& bytes(uint16_t type, std::span<const uint8_t> value) {
        return mnl_attr_put(message(), type, value.size(), value.data()), *this;
    }
    MessageBuilder& address(uint16_t type, const char* value) {
        const IpAddress parsed = *IpAddress::parse(value);
        return bytes(type, {parsed.bytes.data(), parsed.size()});
    }
    MessageBuilder& mac(uint16_t type, const char* value) {
        return bytes(type, MacAddress::parse(value)->bytes);
    }
    MessageBuilder& begin(uint16_t type) {
        return nests_.push_back(mnl_attr_nest_start(message(), type)), *this;
    }
    MessageBuilder& end() {
        mnl_attr_nest_end(message(), nests_.back());
        return nests_.pop_back(), *this;
    }
    /// A struct without an attribute header, within RTA_MULTIPATH; its rtnh_len is set by end_hop().
    MessageBuilder& begin_hop(uint32_t ifindex, uint8_t weight, uint8_t flags = 0) {
        hop_ = static_cast<rtnexthop*>(mnl_nlmsg_put_extra_header(message(), sizeof(rtnexthop)));
        hop_->rtnh_ifindex = static_cast<int>(ifindex);
        hop_->rtnh_hops = static_cast<uint8_t>(weight - 1);
        hop_->rtnh_flags = flags;
        return *this;
    }
    MessageBuilder& end_hop() {
        const auto* tail = static_cast<const char*>(mnl_nlmsg_get_payload_tail(message()));
        hop_->rtnh_len = static_cast<uint16_t>(tail - reinterpret_cast<const char*>(hop_));
        return *this;
    }

    nlmsghdr* message() { return reinterpret_cast<nlmsghdr*>(buffer_.data()); }
    /// A copy of exactly nlmsg_len bytes, so that AddressSanitizer sees a read behind it.
    std::vector<std::byte> exact() {
        const auto* begin = reinterpret_cast<const std::byte*>(buffer_.data());
        return {begin, begin + message()->nlmsg_len};
    }

  private:
    std::vector<char> buffer_;
    std::vector<nlattr*> nests_;
    rtnexthop* hop_ = nullptr;
};

}  // namespace pktpit::router
