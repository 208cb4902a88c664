// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what a client sends to the API's socket: requests of every method and path, queries, bodies.
// An answer without a crash and without "500"; refusals say why, in JSON; the daemon is asked only by
// requests that are answered as well-formed.
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "router/api/server.h"
#include "tests/fuzz/demand.h"
#include "tests/unit/api/fake_daemon.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using nlohmann::json;

/// Bytes that the first answer's head promises and that are not there; 0 without a whole head.
size_t missing_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) return 0;
    const size_t length = answer.find("Content-Length: ");
    if (length > end) return 0;
    const size_t promised = std::stoul(answer.substr(length + 16));
    return promised - std::min(promised, answer.size() - end - 4);
}

/// A request of which the answer is a head alone.
bool asks_for_head(const uint8_t* data, size_t size) {
    return size >= 4 && std::string_view(reinterpret_cast<const char*>(data), 4) == "HEAD";
}

/// At most one request: each needs a version. The answer to a second one may be left out, as a body may
/// (see Daemon::exchange), although the daemon was asked.
bool asks_once(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    constexpr std::string_view version = "HTTP/1.";
    return bytes.find(version) == bytes.rfind(version);
}

/// One server for all inputs; what it asks of the daemon is done at once, on its own thread.
class Daemon {
  public:
    Daemon() : server_(control, [](const std::function<void()>& work) { work(); }) {
        std::string folder = (std::filesystem::temp_directory_path() / "pktpit-api-fuzz-XXXXXX").string();
        folder_ = ::mkdtemp(folder.data());
        socket_ = folder_ + "/api.sock";
        if (const auto listening = server_.listen(socket_); !listening)
            demand(false, "the server listens", listening.error().to_string());
    }
    ~Daemon() {
        server_.stop();
        std::filesystem::remove_all(folder_);
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// What comes back. A request may be cut off anywhere: the sending side is closed behind it, and read
    /// until the server closes. The library takes that for a client that has gone, and when it sees it
    /// between the two writes of head and body, it leaves out the body: then once more, with the sending
    /// side left open until the whole answer is there, or for a second where half a request was sent.
    /// What the earlier tries asked of the daemon does not count.
    [[nodiscard]] std::string exchange(const uint8_t* data, size_t size) {
        std::string answer = exchange(data, size, true);
        for (int tries = 0; tries < 3 && !asks_for_head(data, size) && missing_of(answer) > 0; ++tries) {
            control.calls.clear();
            answer = exchange(data, size, false);
        }
        return answer;
    }

    router::test::FakeControl control;

  private:
    [[nodiscard]] std::string exchange(const uint8_t* data, size_t size, bool closes) const {
        const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        socket_.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            demand(false, "the server takes connections", "");
        while (size > 0) {
            const ssize_t sent = ::send(connection, data, size, MSG_NOSIGNAL);
            if (sent <= 0) break;
            data += sent;
            size -= static_cast<size_t>(sent);
        }
        if (closes) ::shutdown(connection, SHUT_WR);
        // The server waits for the rest of half a request longer than libFuzzer lets an input take
        // (-timeout=5).
        constexpr timeval second{.tv_sec = 1, .tv_usec = 0};
        if (!closes) ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
        std::string all;
        char buffer[16384];
        for (;;) {
            const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
            if (got < 0 && errno == EINTR) continue;  // libFuzzer's alarm
            const bool waited = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
            if (got <= 0 && (closes || !waited)) break;
            if (got > 0) all.append(buffer, static_cast<size_t>(got));
            if (!closes && (waited || (all.find("\r\n\r\n") != std::string::npos && missing_of(all) == 0))) {
                // Read on until the server closes: a second request is not to be worked on beside the next
                // input.
                ::shutdown(connection, SHUT_WR);
                constexpr timeval for_ever{};
                ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
                closes = true;
            }
        }
        ::close(connection);
        return all;
    }

    std::string folder_;
    std::string socket_;
    router::ApiServer server_;
};

/// The first answer's body, if it is JSON and whole.
json body_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    if (end == std::string::npos) return json::value_t::discarded;
    const std::string head = answer.substr(0, end);
    const size_t length = head.find("Content-Length: ");
    if (length == std::string::npos || head.find("application/json") == std::string::npos ||
        head.find("Content-Encoding") != std::string::npos)
        return json::value_t::discarded;
    const std::string body = answer.substr(end + 4, std::stoul(head.substr(length + 16)));
    const json parsed = json::parse(body, nullptr, false);
    demand(!parsed.is_discarded(), "the body is JSON", answer);
    return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // Names in pcap filters would be looked up; filters without are in api_values_fuzz.
    if (std::string_view(reinterpret_cast<const char*>(data), size).find("filter") != std::string_view::npos)
        return 0;
    // Its threads end before what the HTTP library has made with the first request: at exit the last made
    // goes first.
    static Daemon& daemon = *new Daemon;
    static const std::unique_ptr<Daemon> ends_first = [] {
        const std::string request = "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        (void)daemon.exchange(reinterpret_cast<const uint8_t*>(request.data()), request.size());
        return std::unique_ptr<Daemon>(&daemon);
    }();
    daemon.control.calls.clear();
    daemon.control.threads.clear();
    daemon.control.stream = std::make_shared<router::ObservationStream>();
    daemon.control.stream->end("that was all\n");
    const std::string answer = daemon.exchange(data, size);
    if (answer.empty()) return 0;  // not a whole request
    demand(answer.starts_with("HTTP/1."), "the answer is HTTP", answer);
    // A refusal may repeat what the client sent, in JSON: without an end of line.
    demand(answer.find("HTTP/1.1 500 Internal Server Error\r\n") == std::string::npos,
           "nothing that a client sends is the daemon's bug", answer);
    const std::string status = answer.substr(9, 3);
    if (asks_for_head(data, size) || status == "100") return 0;
    const json body = body_of(answer);
    if (status[0] == '4' && !body.is_discarded()) {
        demand(body.contains("errors") && !body["errors"].empty(), "a refusal has reasons", answer);
        for (const json& error : body["errors"])
            demand(!error["message"].get<std::string>().empty(), "a reason is in words", answer);
    }
    if (asks_once(data, size) && status[0] == '4')
        demand(daemon.control.calls.empty(), "nothing is asked of the daemon by what is refused", answer);
    return 0;
}
