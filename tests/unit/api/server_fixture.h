// SPDX-License-Identifier: BSD-3-Clause
// An ApiServer over a fake daemon on a socket of its own, and a client that sends exact bytes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "router/api/server.h"
#include "tests/unit/api/fake_daemon.h"

namespace pktpit::router::test {

using namespace std::chrono_literals;

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "pktpit-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

/// A raw client connection; a read gives up only on what hangs.
class RawClient {
  public:
    explicit RawClient(const std::string& path)
        : descriptor_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        connected_ = ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    }
    ~RawClient() { ::close(descriptor_); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    [[nodiscard]] bool connected() const { return connected_; }
    /// False where the server stopped listening halfway.
    bool send(const std::string& bytes) const {
        size_t sent = 0;
        while (sent < bytes.size()) {
            const ssize_t count = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (count <= 0) return false;
            sent += static_cast<size_t>(count);
        }
        return true;
    }
    /// What has come and was not received yet.
    [[nodiscard]] int unread() const {
        int bytes = 0;
        return ::ioctl(descriptor_, FIONREAD, &bytes) == 0 ? bytes : -1;
    }
    void finish_sending() const { ::shutdown(descriptor_, SHUT_WR); }
    [[nodiscard]] std::string receive_all() const {
        std::string all;
        char buffer[65536];
        for (;;) {
            if (!pktpit::test::readable(descriptor_)) return all + "\n<timed out>";
            const ssize_t count = ::recv(descriptor_, buffer, sizeof(buffer), 0);
            if (count <= 0) return all;
            all.append(buffer, static_cast<size_t>(count));
        }
    }

  private:
    int descriptor_;
    bool connected_ = false;
};

struct Reply {
    int status = 0;
    std::string head;
    nlohmann::json body;
};

inline Reply parse_reply(const std::string& bytes) {
    Reply reply;
    const size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) {
        reply.head = bytes;
        return reply;
    }
    reply.head = bytes.substr(0, end);
    if (bytes.starts_with("HTTP/1.1 ")) reply.status = std::stoi(bytes.substr(9, 3));
    reply.body = nlohmann::json::parse(bytes.substr(end + 4), nullptr, false);
    return reply;
}

class ServerTest : public ::testing::Test {
  protected:
    ApiServer::Executor executor() {
        return [this](std::function<void()> work) { loop.post(std::move(work)); };
    }
    /// What is waited for in vain lasts longer than a test may.
    static constexpr ApiServer::Limits endless{
        .patience = 24h, .request_time = 24h, .idle_time = 24h, .write_progress = 24h};
    void start(const ApiServer::Limits& limits = endless) {
        server.emplace(control, executor(), limits);
        const auto listening = server->listen(socket);
        ASSERT_TRUE(listening) << listening.error().to_string();
    }
    void TearDown() override {
        loop.pause(false);
        server.reset();
        loop.finish();
    }
    [[nodiscard]] Reply exchange(const std::string& bytes) const {
        const RawClient client(socket);
        EXPECT_TRUE(client.connected());
        client.send(bytes);
        return parse_reply(client.receive_all());
    }
    [[nodiscard]] Reply get(const std::string& target) const {
        return exchange("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    [[nodiscard]] Reply send_body(const std::string& method, const std::string& target,
                                  const std::string& body) const {
        return exchange(method + " " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    TemporaryDirectory directory;
    std::string socket = directory.file("api.sock");
    FakeControl control;
    Loop loop;
    std::optional<ApiServer> server;
};

}  // namespace pktpit::router::test
