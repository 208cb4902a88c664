// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace pktpit {
namespace {

IpAddress address(const char* text) {
    return IpAddress::parse(text).value();
}

// RFC 5737 and RFC 3849: for documentation, no machine has them.
TEST(ListenTcp, TakesAnAddressThatTheMachineDoesNotHaveYet) {
    for (const char* text : {"192.0.2.99", "2001:db8::99", "127.0.0.1", "0.0.0.0"})
        EXPECT_TRUE(listen_tcp(address(text), 0, 1)) << text;
}

TEST(ListenTcp, RefusesAPortThatIsTaken) {
    const auto first = listen_tcp(address("127.0.0.1"), 0, 1);
    ASSERT_TRUE(first);
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ASSERT_EQ(::getsockname(first->get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
    const auto second = listen_tcp(address("127.0.0.1"), endpoint_of(bound)->port, 1);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("cannot listen there"), std::string::npos);
}

TEST(IsOfThisHost, SaysWhatTheMachineHas) {
    for (const char* text : {"127.0.0.1", "127.1.2.3", "0.0.0.0"})
        EXPECT_TRUE(is_of_this_host(address(text))) << text;
    for (const char* text : {"192.0.2.99", "2001:db8::99"})
        EXPECT_FALSE(is_of_this_host(address(text))) << text;
}

}  // namespace
}  // namespace pktpit
