// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/host_header.h"

#include <gtest/gtest.h>

namespace pktpit::router {
namespace {

TEST(HostHeader, AddressesLocalhostAndTheNamesThatAreGiven) {
    const std::vector<std::string> names = {"router.example.net"};
    for (const char* ours : {"127.0.0.1", "127.0.0.1:8080", "192.0.2.1:1", "[::1]", "[2001:db8::1]:8080",
                             "localhost", "LocalHost:80", "localhost.", "router.example.net",
                             "ROUTER.example.NET:8080", "router.example.net.:8080"})
        EXPECT_TRUE(is_for_us(ours, names)) << ours;
    for (const char* foreign : {"",
                                ":80",
                                "evil.example",
                                "127.0.0.1.evil.example",
                                "localhost.evil.example",
                                "evil.router.example.net",
                                "router.example.net.evil",
                                "127.0.0.1:x",
                                "127.0.0.1:80:80",
                                "127.0.0.1:123456",
                                "::1",
                                "[::1",
                                "[127.0.0.1]",
                                "[::1]x",
                                "[::1]:x",
                                "[]",
                                "0x7f000001",
                                "2130706433",
                                "localhost ",
                                " localhost",
                                "user@localhost"})
        EXPECT_FALSE(is_for_us(foreign, names)) << foreign;
    EXPECT_FALSE(is_for_us(std::string(400, '1'), names));
}

}  // namespace
}  // namespace pktpit::router
