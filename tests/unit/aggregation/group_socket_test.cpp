// SPDX-License-Identifier: BSD-3-Clause
// Over loopback.
#include "router/aggregation/group_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <vector>

#include "tests/until.h"

namespace pktpit::router {
namespace {

struct Client {
    Fd socket{::socket(AF_INET, SOCK_DGRAM, 0)};
    explicit Client(uint32_t to, uint16_t port) {
        sockaddr_in router{};
        router.sin_family = AF_INET;
        router.sin_addr.s_addr = htonl(to);
        router.sin_port = htons(port);
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&router), sizeof router), 0);
    }
};

uint16_t port_of(const GroupSocket& socket) {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &length);
    return ntohs(own.sin_port);
}

TEST(GroupSocket, answers_from_the_address_that_was_asked) {
    auto opened = GroupSocket::open(0);
    ASSERT_TRUE(opened);
    // Connected: what comes from another address than 127.0.0.9 does not reach it.
    const Client client(0x7f000009, port_of(*opened));
    ASSERT_EQ(send(client.socket.get(), "hello", 5, 0), 5);
    ASSERT_TRUE(pktpit::test::readable(opened->descriptor()));
    std::vector<uint8_t> heard;
    opened->receive(8, [&](const WorkerPeer& peer, std::span<const uint8_t> datagram) {
        heard.assign(datagram.begin(), datagram.end());
        EXPECT_EQ(peer.router, htonl(0x7f000009));
        opened->send(peer, datagram);
    });
    EXPECT_EQ(heard, (std::vector<uint8_t>{'h', 'e', 'l', 'l', 'o'}));
    ASSERT_TRUE(pktpit::test::readable(client.socket.get()));
    char answer[8]{};
    EXPECT_EQ(recv(client.socket.get(), answer, sizeof answer, 0), 5);
}

TEST(GroupSocket, a_port_that_is_taken_is_an_error_with_its_reason) {
    auto first = GroupSocket::open(0);
    ASSERT_TRUE(first);
    const auto second = GroupSocket::open(port_of(*first));
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos)
        << second.error().message;
    EXPECT_FALSE(second.error().hint.empty());
}

}  // namespace
}  // namespace pktpit::router
