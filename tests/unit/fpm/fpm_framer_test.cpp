// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_framer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <cstring>
#include <random>
#include <string>

namespace pktpit::router {
namespace {

using Octets = std::vector<uint8_t>;

Octets message(size_t payload, uint8_t fill) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<uint32_t>(sizeof header + payload);
    Octets out(NLMSG_ALIGN(header.nlmsg_len), 0);
    std::memcpy(out.data(), &header, sizeof header);
    std::fill_n(out.begin() + sizeof header, payload, fill);
    return out;
}

Octets frame(const Octets& body, uint8_t version = 1, uint8_t type = 1) {
    const size_t length = body.size() + 4;
    Octets out{version, type, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)};
    out.insert(out.end(), body.begin(), body.end());
    return out;
}

void feed(FpmFramer& framer, const Octets& bytes, size_t begin, size_t count) {
    const auto room = framer.room();
    ASSERT_GE(room.size(), count);
    std::memcpy(room.data(), bytes.data() + begin, count);
    framer.filled(count);
}

TEST(FpmFramer, frames_come_whole_however_the_stream_is_cut) {
    std::mt19937 random(7);
    Octets stream;
    std::vector<size_t> sizes;
    for (size_t i = 0; i < 2000; i++) {
        const size_t payload = i % 50 == 0 ? 65535 - 4 - sizeof(nlmsghdr) : random() % 300;
        const Octets body = message(payload - (i % 50 == 0 ? 3 : 0), static_cast<uint8_t>(i));
        sizes.push_back(body.size());
        const Octets framed = frame(body);
        stream.insert(stream.end(), framed.begin(), framed.end());
    }
    FpmFramer framer;
    size_t frames = 0;
    for (size_t at = 0; at < stream.size();) {
        const size_t most = std::min<size_t>(1 + random() % 65535, framer.room().size());
        const size_t count = std::min(most, stream.size() - at);
        feed(framer, stream, at, count);
        at += count;
        for (auto next = framer.frame(); next && !next->empty(); next = framer.frame()) {
            ASSERT_EQ(next->size(), sizes[frames]);
            ASSERT_EQ(reinterpret_cast<uintptr_t>(next->data()) % 4, 0U);
            if (next->size() > sizeof(nlmsghdr)) {
                EXPECT_EQ(std::to_integer<uint8_t>((*next)[sizeof(nlmsghdr)]), static_cast<uint8_t>(frames));
            }
            frames++;
        }
    }
    EXPECT_EQ(frames, sizes.size());
    EXPECT_EQ(framer.waiting(), 0U);
}

struct Wrong {
    Octets bytes;
    const char* message;
    const char* hint;
};

TEST(FpmFramer, says_what_is_wrong_with_a_header) {
    const Wrong cases[] = {
        {{2}, "FPM version 2", "zebra"},       {{0, 1, 0, 5}, "FPM version 0", "zebra"},
        {{1, 2}, "message type 2", "netlink"}, {{1, 3}, "message type 3", ""},
        {{1, 1, 0, 0}, "length 0", ""},        {{1, 1, 0, 4}, "length 4", ""},
    };
    for (const auto& wrong : cases) {
        FpmFramer framer;
        feed(framer, wrong.bytes, 0, wrong.bytes.size());
        const auto next = framer.frame();
        ASSERT_FALSE(next) << wrong.message;
        EXPECT_EQ(next.error().where, "frame 1");
        EXPECT_EQ(next.error().message, wrong.message);
        EXPECT_THAT(next.error().hint, testing::HasSubstr(wrong.hint));
    }
}

Result<void> visit(const Octets& body, size_t& messages) {
    std::vector<uint32_t> aligned(body.size() / 4 + 1);
    std::memcpy(aligned.data(), body.data(), body.size());
    return for_each_fpm_message({reinterpret_cast<const std::byte*>(aligned.data()), body.size()},
                                [&](auto) { messages++; });
}

TEST(FpmFramer, messages_of_a_frame) {
    Octets body = message(5, 1);
    const Octets second = message(0, 2);
    body.insert(body.end(), second.begin(), second.end());
    size_t messages = 0;
    EXPECT_TRUE(visit(body, messages));
    EXPECT_EQ(messages, 2U);

    Octets rest = body;
    rest.insert(rest.end(), {1, 2, 3});
    messages = 0;
    const auto cut = visit(rest, messages);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().where, "byte 44 of the frame");
    EXPECT_EQ(cut.error().message, "3 bytes are left, too few for a netlink message");
    EXPECT_EQ(messages, 2U);

    for (const uint32_t length : {0U, 15U, 25U, 0xffffffffU}) {
        Octets lies = message(8, 3);
        std::memcpy(lies.data(), &length, sizeof length);
        const auto refused = visit(lies, messages);
        ASSERT_FALSE(refused) << length;
        EXPECT_EQ(refused.error().message, "a netlink message of " + std::to_string(length) + " bytes");
        EXPECT_EQ(refused.error().expected, "16 to 24 bytes");
    }
}

}  // namespace
}  // namespace pktpit::router
