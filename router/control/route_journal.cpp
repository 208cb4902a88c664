// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/route_journal.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/errno_text.h"
#include "base/fd.h"
#include "base/json/parse.h"
#include "config/route_json.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

/// Not worth a thought below.
constexpr size_t few_changes = 1000;

std::string line_of_routes(std::span<const config::StaticRoute> routes) {
    std::string line = R"({"set":[)";
    for (const auto& route : routes) {
        if (line.back() != '[') line += ',';
        line += config::route_text(route);
    }
    return line + "]}\n";
}

std::optional<VrfPrefix> removed_place(const json& entry) {
    const auto text_of = [](const json& value) {
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    const bool of_vrf = entry.is_object();
    const auto prefix = Prefix::parse(text_of(of_vrf ? entry.value("prefix", json()) : entry));
    if (!prefix) return std::nullopt;
    return VrfPrefix{of_vrf ? text_of(entry.value("vrf", json())) : std::string(), *prefix};
}

Result<void> write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail({}, errno_text(errno));
        text.remove_prefix(static_cast<size_t>(written));
    }
    return {};
}

Error cannot_keep(const std::string& path, const std::string& why) {
    return {path, "cannot keep the route over a restart: " + why, "a writable /run/pktpit", ""};
}

}  // namespace

RouteJournal::Routes RouteJournal::load() {
    Routes routes;
    std::ifstream file(path_);
    if (!file) return routes;
    std::string text{std::istreambuf_iterator<char>(file), {}};
    file.close();
    const bool former = !text.empty() && text[0] == '[';
    if (former) {
        read_line(text, routes);
        if (auto written = rewrite(routes); !written) spdlog::warn("{}", written.error().to_string());
        return routes;
    }
    size_t begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        read_line(text.substr(begin, end - begin), routes);
    if (begin == text.size()) return routes;
    spdlog::warn("{}: the last change was not written to its end, and is left out", path_);
    cut(static_cast<long>(begin));
    return routes;
}

void RouteJournal::read_line(const std::string& line, Routes& routes) {
    const json change = parse_json(line);
    const bool former = change.is_array();
    const json* set = former ? &change : change.contains("set") ? &change["set"] : nullptr;
    const json* removed = !former && change.contains("remove") ? &change["remove"] : nullptr;
    if (!(set && set->is_array()) && !(removed && removed->is_array())) {
        spdlog::warn("{}: not readable: \"{}\"; what it said of routes given by hand is lost", path_,
                     line.substr(0, 60));
        return;
    }
    if (set)
        for (const auto& entry : *set) {
            changes_++;
            if (auto route = config::parse_route(entry))
                routes.insert_or_assign(place_of(*route), std::move(*route));
            else
                spdlog::warn("{}: {}", path_, route.error().front().to_string());
        }
    if (removed)
        for (const auto& entry : *removed) {
            changes_++;
            if (const auto place = removed_place(entry)) routes.erase(*place);
        }
}

Result<void> RouteJournal::set(std::span<const config::StaticRoute> routes) {
    auto appended = append(line_of_routes(routes));
    if (appended) changes_ += routes.size();
    return appended;
}

Result<void> RouteJournal::remove(std::span<const config::StaticRoute> routes) {
    std::string line = R"({"remove":[)";
    for (const auto& route : routes) {
        if (line.back() != '[') line += ',';
        const std::string prefix = '"' + route.prefix.to_string() + '"';
        line += route.vrf.empty() ? prefix
                                  : R"({"prefix":)" + prefix + R"(,"vrf":)" + json(route.vrf).dump() + '}';
    }
    auto appended = append(line + "]}\n");
    if (appended) changes_ += routes.size();
    return appended;
}

Result<void> RouteJournal::append(const std::string& line) {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return tl::unexpected(cannot_keep(path_, errno_text(errno)));
    before_ = status.st_size;
    auto written = write_all(file.get(), line);
    if (written) return {};
    if (::ftruncate(file.get(), before_) != 0)
        spdlog::warn("{}: half a change stays in it: {}", path_, errno_text(errno));
    return tl::unexpected(cannot_keep(path_, written.error().message));
}

void RouteJournal::take_back() {
    cut(before_);
}

void RouteJournal::cut(long size) {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || ::ftruncate(file.get(), size) != 0) spdlog::warn("{}: {}", path_, errno_text(errno));
}

void RouteJournal::tidy(const Routes& routes) {
    if (changes_ < 2 * routes.size() + few_changes) return;
    if (auto written = rewrite(routes); !written) {
        spdlog::warn("{}", written.error().to_string());
        changes_ = routes.size();  // not at every change again
    }
}

// Written beside and renamed over: a reader finds the old routes or the new ones, never half of them.
Result<void> RouteJournal::rewrite(const Routes& routes) {
    const std::string incoming = path_ + ".incoming";
    const Fd file(::open(incoming.c_str(), O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0640));
    if (!file) return tl::unexpected(cannot_keep(path_, errno_text(errno)));
    std::string text;
    for (const auto& [place, route] : routes)
        text += line_of_routes({&route, 1});
    if (auto written = write_all(file.get(), text); !written)
        return tl::unexpected(cannot_keep(path_, written.error().message));
    if (std::rename(incoming.c_str(), path_.c_str()) != 0)
        return tl::unexpected(cannot_keep(path_, errno_text(errno)));
    changes_ = routes.size();
    return {};
}

void RouteJournal::forget() const {
    ::unlink(path_.c_str());
}

}  // namespace pktpit::router
