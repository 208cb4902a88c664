// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/client.h"

#include <httplib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace pktpit::router::cli {
namespace {

constexpr time_t connect_seconds = 5;
/// The daemon answers within its own deadline of 10 s, unless it is busy with a reload of full tables.
constexpr time_t answer_seconds = 120;
/// Of a stream: nothing may happen for weeks. In milliseconds it still is an int.
constexpr time_t stream_seconds = 2'000'000;
constexpr size_t most_refusal_bytes = size_t{1} << 20;

volatile std::sig_atomic_t stream_socket = -1;

/// Our side is closed, which the daemon sees; its last words still come. A second signal ends the program.
class EndBySignal {
  public:
    EndBySignal() {
        struct sigaction action {};
        action.sa_handler = [](int) { ::shutdown(stream_socket, SHUT_WR); };
        action.sa_flags = SA_RESETHAND | SA_RESTART;
        ::sigaction(SIGINT, &action, &interrupt_);
        ::sigaction(SIGTERM, &action, &terminate_);
    }
    ~EndBySignal() {
        ::sigaction(SIGINT, &interrupt_, nullptr);
        ::sigaction(SIGTERM, &terminate_, nullptr);
        stream_socket = -1;
    }
    EndBySignal(const EndBySignal&) = delete;
    EndBySignal& operator=(const EndBySignal&) = delete;

  private:
    struct sigaction interrupt_ {};
    struct sigaction terminate_ {};
};

/// A daemon that goes away while we write must not end us by SIGPIPE; a reader of our output that does,
/// should.
class IgnoreBrokenPipe {
  public:
    IgnoreBrokenPipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
    ~IgnoreBrokenPipe() { std::signal(SIGPIPE, before_); }
    IgnoreBrokenPipe(const IgnoreBrokenPipe&) = delete;
    IgnoreBrokenPipe& operator=(const IgnoreBrokenPipe&) = delete;

  private:
    void (*before_)(int);
};

std::string target_of(const std::string& path, const Parameters& parameters) {
    std::string target = path;
    for (const auto& [name, value] : parameters) {
        target += target.size() == path.size() ? '?' : '&';
        target.append(name).append("=").append(percent_encoded(value));
    }
    return target;
}

}  // namespace

std::string percent_encoded(const std::string& text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= 'a' && byte <= 'z') || std::strchr("-._~", c) != nullptr;
        if (plain && c != '\0') {
            encoded += c;
        } else {
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return encoded;
}

Error Client::unreachable() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path_.empty() || socket_path_.size() >= sizeof(address.sun_path)) {
        return {socket_path_, "not a path that a socket can have", "1 to 107 bytes", ""};
    }
    socket_path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int failed = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const int error = failed ? errno : 0;
    ::close(probe);
    if (error == 0) return {socket_path_, "the daemon did not answer", "", "see its log"};
    std::string hint =
        "start it with `pktpitd --config FILE`; another instance is reached with --instance NAME, --socket "
        "PATH or the environment variable PKTPIT_SOCKET";
    if (error == EACCES) hint = "only root and the socket's group may open it";
    if (error == ECONNREFUSED) hint = "the daemon has died and left its socket: " + hint;
    return {socket_path_, std::string("no daemon answers: ") + std::strerror(error), "", hint};
}

Result<Reply> Client::exchange(const std::string& method, const std::string& target,
                               const std::string& body) const {
    const IgnoreBrokenPipe guard;
    httplib::ClientImpl client(socket_path_);
    client.set_address_family(AF_UNIX);
    client.set_url_encode(false);
    client.set_connection_timeout(connect_seconds);
    client.set_read_timeout(answer_seconds);
    client.set_write_timeout(connect_seconds);

    httplib::Request request;
    request.method = method;
    request.path = target;
    request.headers = {
        {"Host", "localhost"}, {"Content-Type", "application/json"}, {"Accept-Encoding", "identity"}};
    request.body = body;
    const httplib::Result result = client.send(request);
    if (!result) return tl::unexpected(unreachable());

    auto parsed = nlohmann::json::parse(result->body, nullptr, false);
    if (parsed.is_discarded()) {
        return fail(socket_path_, "the answer to " + method + " " + target + " is not JSON", {},
                    "is it pktpitd that listens there?");
    }
    return Reply{result->status, std::move(parsed)};
}

Result<Reply> Client::get(const std::string& path, const Parameters& parameters) const {
    return exchange("GET", target_of(path, parameters), "");
}

Result<Reply> Client::stream(const std::string& path, const Parameters& parameters,
                             const std::function<bool(std::string_view bytes)>& take) const {
    const IgnoreBrokenPipe guard;
    const EndBySignal signals;
    httplib::ClientImpl client(socket_path_);
    client.set_address_family(AF_UNIX);
    client.set_url_encode(false);
    client.set_connection_timeout(connect_seconds);
    client.set_read_timeout(stream_seconds);
    client.set_write_timeout(connect_seconds);
    client.set_socket_options([](int socket) { stream_socket = socket; });

    Reply reply;
    std::string refusal;
    httplib::Request request;
    request.method = "GET";
    request.path = target_of(path, parameters);
    request.headers = {{"Host", "localhost"}, {"Accept-Encoding", "identity"}};
    request.response_handler = [&](const httplib::Response& response) {
        reply.status = response.status;
        return true;
    };
    request.content_receiver = [&](const char* bytes, size_t count, uint64_t, uint64_t) {
        if (reply.good()) return take({bytes, count});
        refusal.append(bytes, count);
        return refusal.size() < most_refusal_bytes;
    };
    const httplib::Result result = client.send(request);
    if (reply.status == 0) return tl::unexpected(unreachable());
    if (!result && result.error() != httplib::Error::Canceled)
        return fail(socket_path_, "the daemon has gone before its answer was at its end", {}, "see its log");
    if (!reply.good()) reply.body = nlohmann::json::parse(refusal, nullptr, false);
    return reply;
}

Result<Reply> Client::send(const std::string& method, const std::string& path,
                           const nlohmann::json& body) const {
    return exchange(method, path, body.dump());
}

}  // namespace pktpit::router::cli
