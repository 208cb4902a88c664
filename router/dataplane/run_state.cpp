// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_state.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/errno_text.h"
#include "base/fd.h"
#include "base/quoted.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace pktpit::router {
namespace {

constexpr std::string_view first_line = "pktpit-state 1";
constexpr size_t largest_file = size_t{16} << 20;

/// The text up to the separator, which is taken off the rest together with it.
std::string_view cut(std::string_view& rest, char separator) {
    const size_t at = rest.find(separator);
    const std::string_view head = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    return head;
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return number;
}

/// A switch and its value: a small number, perhaps negative.
bool read_switch(std::string_view word, SwitchValues& values) {
    const std::string_view name = cut(word, '=');
    if (std::ranges::find(known_switches, name) == known_switches.end()) return false;
    const auto value = number_in<int>(word);
    return value && values.emplace(name, std::to_string(*value)).second;
}

bool read_device(std::string_view rest, RunState& state) {
    const auto ifindex = number_in<uint32_t>(cut(rest, ' '));
    SwitchValues values;
    while (!rest.empty())
        if (!read_switch(cut(rest, ' '), values)) return false;
    return ifindex && *ifindex != 0 && state.switches.emplace(*ifindex, std::move(values)).second;
}

bool read_line(std::string_view line, RunState& state) {
    const std::string_view word = cut(line, ' ');
    if (word == "device") return read_device(line, state);
    const auto cookie = word == "namespace" ? number_in<uint64_t>(line) : std::nullopt;
    if (!cookie) return false;
    state.network_namespace = *cookie;
    return true;
}

tl::unexpected<Error> cannot(const std::string& path, const std::string& doing) {
    return fail(path, "cannot " + doing + ": " + errno_text(errno), "a writable /run/pktpit with space");
}

}  // namespace

std::string to_text(const RunState& state) {
    std::string text(first_line);
    text += "\nnamespace " + std::to_string(state.network_namespace) + "\n";
    for (const auto& [ifindex, values] : state.switches) {
        text += "device " + std::to_string(ifindex);
        for (const auto& [name, value] : values)
            text.append(" ").append(name).append("=").append(value);
        text += "\n";
    }
    return text;
}

Result<RunState> parse_run_state(std::string_view text, const std::string& where) {
    RunState state;
    size_t number = 1;
    const auto wrong = [&](std::string_view line) {
        return fail(where + ":" + std::to_string(number), "not a line of a daemon's state: " + quoted(line),
                    std::string(first_line) + ", namespace COOKIE, device IFINDEX SWITCH=VALUE …",
                    "remove the file: what its devices' switches were before is not known then");
    };
    if (const auto line = cut(text, '\n'); line != first_line) return wrong(line);
    while (!text.empty()) {
        number++;
        if (const auto line = cut(text, '\n'); !read_line(line, state)) return wrong(line);
    }
    return state;
}

Result<std::optional<std::string>> read_run_state_file(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::optional<std::string>();
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) return cannot(path, "read it");
    if (!S_ISREG(status.st_mode) || static_cast<size_t>(status.st_size) > largest_file)
        return fail(path, "not a daemon's state", "a regular file of at most 16 MiB", "remove it");
    std::string text(static_cast<size_t>(status.st_size), '\0');
    size_t filled = 0;
    while (filled < text.size()) {
        const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
        if (got < 0) return cannot(path, "read it");
        if (got == 0) break;
        filled += static_cast<size_t>(got);
    }
    text.resize(filled);
    return std::optional(std::move(text));
}

Result<std::optional<RunState>> load_run_state(const std::string& path) {
    const auto text = read_run_state_file(path);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::optional<RunState>();
    auto state = parse_run_state(**text, path);
    if (!state) return tl::unexpected(state.error());
    return std::optional(std::move(*state));
}

Result<void> save_run_state(const std::string& path, const RunState& state) {
    const std::string incoming = path + ".new";
    const std::string text = to_text(state);
    {
        const Fd file(::open(incoming.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
        if (!file) return cannot(incoming, "make it");
        const ssize_t written = ::write(file.get(), text.data(), text.size());
        if (written >= 0 && static_cast<size_t>(written) != text.size()) errno = ENOSPC;
        if (written < 0 || static_cast<size_t>(written) != text.size()) {
            const auto failed = cannot(incoming, "write it");
            ::unlink(incoming.c_str());
            return failed;
        }
    }
    if (::rename(incoming.c_str(), path.c_str()) == 0) return {};
    const auto failed = cannot(path, "replace it");
    ::unlink(incoming.c_str());
    return failed;
}

uint64_t current_network_namespace() {
    const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    if (!socket || getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) != 0) return 0;
    return cookie;
}

}  // namespace pktpit::router
