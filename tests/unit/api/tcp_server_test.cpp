// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/tcp_server.h"

#include "base/socket_address.h"
#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

class TcpServerTest : public ServerTest {
  protected:
    /// A loopback port that nobody has; another process could take it, but does not listen on this address.
    static config::TcpService somewhere() {
        config::TcpService service;
        service.enabled = true;
        service.address = *IpAddress::parse("127.71.93.7");
        const auto probe = listen_tcp(service.address, 0, 1);
        sockaddr_storage at{};
        socklen_t size = sizeof at;
        ::getsockname(probe->get(), reinterpret_cast<sockaddr*>(&at), &size);
        service.port = endpoint_of(at)->port;
        return service;
    }
    [[nodiscard]] static std::string exchange(const config::TcpService& service, const std::string& bytes) {
        const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const SocketAddress at(service.address, service.port);
        if (::connect(client.get(), at.get(), at.size) != 0) return "not connected";
        (void)::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        std::string all;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::recv(client.get(), buffer, sizeof buffer, 0)) > 0;)
            all.append(buffer, static_cast<size_t>(got));
        return all;
    }
    static constexpr const char* question = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
};

TEST_F(TcpServerTest, TheLoopReadsOnceHoweverManyAskAtOnce) {
    const auto service = somewhere();
    auto opened = TcpServer::open(TcpServer::Kind::metrics, service, control, executor());
    ASSERT_TRUE(opened) << opened.error().to_string();
    (*opened)->start();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; i++) {
        const std::string answer = exchange(service, question);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
        EXPECT_NE(answer.find("text/plain; version=0.0.4"), std::string::npos);
        EXPECT_NE(answer.find("nosniff"), std::string::npos);
        EXPECT_TRUE(answer.ends_with("fake_metric 1\n")) << answer;
    }
    const auto quarters = (std::chrono::steady_clock::now() - begin) / 250ms;
    (*opened)->stop();
    EXPECT_LE(std::ranges::count(control.calls, "metrics"), quarters + 1);
}

TEST_F(TcpServerTest, NothingButGetAndOnlyForThisMachine) {
    const auto service = somewhere();
    auto opened = TcpServer::open(TcpServer::Kind::metrics, service, control, executor());
    ASSERT_TRUE(opened);
    (*opened)->start();
    const auto status = [&](const std::string& bytes) {
        return parse_reply(exchange(service, bytes)).status;
    };
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"})
        EXPECT_EQ(status(std::string(method) +
                         " /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
                  405)
            << method;
    EXPECT_EQ(status("GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404);
    EXPECT_EQ(status("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
    EXPECT_EQ(status("GET /metrics HTTP/1.1\r\n\r\n"), 421);
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(TcpServerTest, AnotherOfTheSamePlaceSharesItsSocket) {
    auto service = somewhere();
    auto first = TcpServer::open(TcpServer::Kind::metrics, service, control, executor());
    ASSERT_TRUE(first);
    (*first)->start();
    const auto taken = TcpServer::open(TcpServer::Kind::metrics, service, control, executor());
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().where, "/metrics/listen");
    service.from = {*Prefix::parse("192.0.2.0/24")};
    auto second = TcpServer::open(TcpServer::Kind::metrics, service, control, executor(), first->get());
    ASSERT_TRUE(second) << second.error().to_string();
    (*first)->stop();
    first->reset();
    (*second)->start();
    EXPECT_EQ(parse_reply(exchange(service, question)).status, 403) << "by the new one's rules";
}

TEST_F(TcpServerTest, StopsWhileTheLoopIsBusy) {
    const auto service = somewhere();
    auto opened = TcpServer::open(TcpServer::Kind::metrics, service, control, executor());
    ASSERT_TRUE(opened);
    (*opened)->start();
    loop.pause(true);
    std::string answer;
    std::thread client([&] { answer = exchange(service, question); });
    ASSERT_TRUE(loop.wait_for_queued(1));
    (*opened)->stop();
    client.join();
    EXPECT_EQ(parse_reply(answer).status, 503) << answer;
    EXPECT_TRUE(control.calls.empty());
}

}  // namespace
}  // namespace pktpit::router::test
