// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace pktpit::router {
namespace {

using Clock = std::chrono::steady_clock;

struct Served {
    Connection* connection = nullptr;
    const Peer* peer = nullptr;
};
thread_local Served current;

constexpr const char* too_many_of_user =
    R"({"errors":[{"where":"","message":"this user has too many connections","expected":"at most /api/connections_per_user","hint":"end one of them: a trace, a capture"}]})";
constexpr const char* too_many_of_address =
    R"({"errors":[{"where":"","message":"this address has too many connections","expected":"","hint":"end one of them"}]})";
constexpr const char* not_allowed =
    R"({"errors":[{"where":"","message":"this address may not connect","expected":"one of `from` in the configuration","hint":""}]})";
constexpr const char* too_many =
    R"({"errors":[{"where":"","message":"the daemon has too many connections","expected":"","hint":"try again"}]})";

}  // namespace

/// Clients that were told why they are not let in: their connections stay until they have read it, which one
/// that is closed with bytes unread would not let them, for a second at the most.
class HttpServer::Refused {
  public:
    Refused() = default;
    Refused(const Refused&) = delete;
    Refused& operator=(const Refused&) = delete;
    ~Refused() {
        for (const auto& one : kept_)
            ::close(one.descriptor);
    }

    void add(int descriptor, const char* status, const std::string& body) {
        const std::string answer =
            std::string("HTTP/1.1 ") + status +
            "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body;
        (void)::send(descriptor, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        ::shutdown(descriptor, SHUT_WR);
        if (kept_.size() == most) {
            ::close(kept_.front().descriptor);
            kept_.erase(kept_.begin());
        }
        kept_.push_back({descriptor, Clock::now() + std::chrono::seconds(1)});
    }

    void poll_for(std::vector<pollfd>& entries) const {
        for (const auto& one : kept_)
            entries.push_back({one.descriptor, POLLIN, 0});
    }

    /// What they still send is thrown away.
    void look() {
        std::erase_if(kept_, [now = Clock::now()](const Kept& one) {
            char thrown_away[4096];
            const ssize_t got = ::recv(one.descriptor, thrown_away, sizeof thrown_away, MSG_DONTWAIT);
            const bool open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
            if (open && now < one.until) return false;
            ::close(one.descriptor);
            return true;
        });
    }

    [[nodiscard]] bool empty() const { return kept_.empty(); }

  private:
    struct Kept {
        int descriptor;
        Clock::time_point until;
    };
    static constexpr size_t most = 32;
    std::vector<Kept> kept_;
};

/// How many connections are taken in a second: a bucket of tokens, as deep as two seconds. The accepting
/// thread's.
class HttpServer::Pace {
  public:
    explicit Pace(double a_second) : a_second_(a_second), tokens_(a_second * depth_s) {}
    [[nodiscard]] bool has() {
        if (a_second_ <= 0) return true;
        const auto now = Clock::now();
        const std::chrono::duration<double> passed = now - last_;
        tokens_ = std::min(a_second_ * depth_s, tokens_ + passed.count() * a_second_);
        last_ = now;
        return tokens_ >= 1;
    }
    void take() { tokens_ -= 1; }

  private:
    static constexpr double depth_s = 2;
    double a_second_;
    double tokens_;
    Clock::time_point last_ = Clock::now();
};

HttpServer::HttpServer(HttpLimits limits)
    : limits_(std::move(limits)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HttpServer::~HttpServer() {
    close();
    if (wake_ >= 0) ::close(wake_);
}

void HttpServer::start(int listener) {
    svr_sock_ = listener;  // cpp-httplib ends answers in chunks when there is none
    acceptor_ = std::thread([this, listener] { accept_loop(listener); });
}

void HttpServer::close() {
    if (!acceptor_.joinable()) return;
    stopping_ = true;
    svr_sock_ = INVALID_SOCKET;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
    acceptor_.join();
    std::vector<std::thread> serving;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [descriptor, open] : open_) {
            // Reading ends at once; what is being answered may still go out.
            ::shutdown(descriptor, SHUT_RD);
            serving.push_back(std::move(open.thread));
        }
    }
    for (auto& thread : serving)
        thread.join();
    join_ended();
}

bool HttpServer::is_ended_by_client() {
    return current.connection && current.connection->is_ended_by_client();
}

void HttpServer::let_client_pause() {
    if (current.connection) current.connection->let_client_pause();
}

const Peer& HttpServer::peer() {
    return *current.peer;
}

void HttpServer::accept_loop(int listener) {
    Refused refused;
    Pace pace(limits_.connections_a_second);
    std::vector<pollfd> entries;
    while (!stopping_) {
        join_ended();
        bool full = !pace.has();
        {
            const std::lock_guard lock(mutex_);
            full = full || open_.size() >= limits_.connections;
        }
        // While full, or too fast, further clients wait in the kernel's backlog.
        entries.assign({{wake_, POLLIN, 0}, {full ? -1 : listener, POLLIN, 0}});
        refused.poll_for(entries);
        const int patience = full ? 10 : refused.empty() ? 1000 : 100;
        if (::poll(entries.data(), entries.size(), patience) < 0 && errno != EINTR) return;
        refused.look();
        if (full || stopping_ || !(entries[1].revents & POLLIN)) continue;
        const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor >= 0) {
            pace.take();
            take(descriptor, refused);
        } else if (errno != EAGAIN && errno != EINTR) {
            // Out of descriptors or memory: the client stays in the backlog, and so poll() would not wait.
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
}

/// Null: it may come in.
const char* HttpServer::why_not(const Peer& peer) const {
    if (limits_.may_connect && !limits_.may_connect(peer)) return not_allowed;
    const auto same_peer = [&](const auto& one) { return one.second.peer.is_same_client(peer); };
    if (static_cast<size_t>(std::ranges::count_if(open_, same_peer)) >= limits_.connections_per_peer)
        return peer.address ? too_many_of_address : too_many_of_user;
    if (peer.uid != 0 && open_.size() >= limits_.connections - limits_.kept_for_root) return too_many;
    return nullptr;
}

void HttpServer::take(int descriptor, Refused& refused) {
    const Peer peer = peer_of(descriptor);
    const std::lock_guard lock(mutex_);
    if (const char* why = why_not(peer)) {
        refused.add(descriptor,
                    why == too_many      ? "503 Service Unavailable"
                    : why == not_allowed ? "403 Forbidden"
                                         : "429 Too Many Requests",
                    why);
        return;
    }
    try {
        // It waits for the lock before it takes itself out of the map.
        open_[descriptor] = Open{peer, std::thread([this, descriptor, peer] { serve(descriptor, peer); })};
    } catch (const std::system_error&) {  // the machine has no thread left for it
        open_.erase(descriptor);
        refused.add(descriptor, "503 Service Unavailable", too_many);
    }
}

void HttpServer::serve(int descriptor, const Peer& peer) {
    Connection connection(descriptor, limits_.connection, stopping_);
    current = {&connection, &peer};
    bool closed = false;
    process_request(connection, true, closed, [](httplib::Request& request) {
        // A body without a length would last until the client hangs up; RFC 9112 6.3: it is empty.
        if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) {
            request.set_header("Content-Length", "0");
        }
        // JSON is all that bodies are, whatever curl says; and never compressed, since a body's limit is
        // checked before it is unpacked.
        request.headers.erase("Content-Type");
        request.headers.erase("Content-Encoding");
        // Answers are whole: a part of JSON is none.
        request.headers.erase("Range");
        request.ranges.clear();
    });
    current = {};
    {
        // Before the client sees the end: its next connection is not one too many.
        const std::lock_guard lock(mutex_);
        if (auto self = open_.extract(descriptor); self.mapped().thread.joinable())
            ended_.push_back(std::move(self.mapped().thread));
    }
    ::shutdown(descriptor, SHUT_WR);
    ::close(descriptor);
}

void HttpServer::join_ended() {
    std::vector<std::thread> ended;
    {
        const std::lock_guard lock(mutex_);
        ended.swap(ended_);
    }
    for (auto& thread : ended)
        thread.join();
}

}  // namespace pktpit::router
