// SPDX-License-Identifier: BSD-3-Clause
// What the CLI does with any answer of a daemon, which may be of another version or no pktpitd at all: the
// first byte is the command, the second the answer's status, the rest its body. HTTP itself is the library's.
// Must hold: the command ends with a status that the manual has, a refusal says something, and nothing that
// came from the socket steers the terminal.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "router/cli/commands.h"
#include "router/cli/terminal.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router::cli;

/// Answers each request with what `answer` has, on a thread of its own.
class Server {
  public:
    Server() : path_("/tmp/pktpit-cli-fuzz-" + std::to_string(::getpid())) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        ::unlink(path_.c_str());
        demand(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                   ::listen(listener_.get(), 8) == 0,
               "there is a socket");
        std::thread([this] { serve(); }).detach();
    }
    [[nodiscard]] const std::string& path() const { return path_; }

    void set_answer(std::string answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
    }

  private:
    /// A client that has given up may still be served when the next one asks.
    [[nodiscard]] std::string answer() const {
        const std::lock_guard lock(mutex_);
        return answer_;
    }
    [[noreturn]] void serve() const {
        for (;;) {
            const Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            std::string request;
            std::array<char, 4096> buffer{};
            while (request.find("\r\n\r\n") == std::string::npos) {
                const ssize_t got = ::recv(connection.get(), buffer.data(), buffer.size(), 0);
                if (got <= 0 && errno != EINTR) break;
                if (got > 0) request.append(buffer.data(), static_cast<size_t>(got));
            }
            const std::string text = answer();
            for (size_t done = 0; done < text.size();) {
                const ssize_t sent =
                    ::send(connection.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
                if (sent <= 0 && errno != EINTR) break;
                if (sent > 0) done += static_cast<size_t>(sent);
            }
        }
    }

    Fd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::string path_;
    mutable std::mutex mutex_;
    std::string answer_;
};

using Command = std::function<int(const Session&)>;

const std::array<Command, 25>& commands() {
    static const std::chrono::duration<double> at_once{1e-6};
    static const std::array<Command, 25> all = {
        show_version,
        show_ports,
        [](const Session& session) { return show_routes(session, {}); },
        show_ignored_routes,
        [](const Session& session) { return show_events(session, false); },
        show_memory,
        [](const Session& session) { return show_routes_summary(session); },
        show_vrfs,
        show_filters,
        show_next_hop_groups,
        [](const Session& session) { return show_route(session, "192.0.2.1"); },
        show_neighbours,
        show_drift,
        show_aggregation,
        show_fpm,
        show_counters,
        show_latency,
        show_workers,
        [](const Session& session) { return show_offload(session, false); },
        [](const Session& session) { return show_offload(session, true); },
        [](const Session& session) { return show_config_difference(session, 1); },
        show_configs,
        [](const Session& session) { return show_interfaces(session, at_once); },
        [](const Session& session) { return watch_counters(session, at_once, 1); },
        [](const Session& session) { return trace(session, {}); },
    };
    return all;
}

constexpr std::array<int, 5> statuses = {200, 400, 404, 429, 500};

bool steers_a_terminal(std::string_view text) {
    for (const char c : text)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return true;
    return false;
}

void show(const Client& client, const Command& command, bool as_json, unsigned columns) {
    std::ostringstream out;
    std::ostringstream err;
    const Terminal terminal{.out = out, .err = err, .columns = columns};
    const int status = command({client, terminal, as_json});
    demand(status == exit_ok || status == exit_wrong || status == exit_unusable,
           "a status that the manual has");
    demand(status == exit_ok || !out.str().empty() || !err.str().empty(), "a failure is told");
    demand(!steers_a_terminal(err.str()), "no control characters among errors", err.str());
    // Programs read JSON; a stream's lines are handed on as they came.
    if (!as_json) demand(!steers_a_terminal(out.str()), "no control characters are shown", out.str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    static Server& server = *new Server;  // its thread ends with the program
    static const Client client(server.path());
    static const int at_exit = std::atexit([] { ::unlink(server.path().c_str()); });
    (void)at_exit;
    // Letters and digits, so that seeds can be read: 'a' is the first command, '2' is 200.
    const Command& command = commands()[static_cast<uint8_t>(data[0] - 'a') % commands().size()];
    const int status = statuses[data[1] % statuses.size()];
    const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
    server.set_answer("HTTP/1.1 " + std::to_string(status) + " -\r\nConnection: close\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body);
    show(client, command, false, data[1] & 0x80 ? 40 : 0);
    show(client, command, true, 0);
    return 0;
}
