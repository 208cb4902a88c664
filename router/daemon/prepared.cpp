// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/prepared.h"

#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/regular_file.h"
#include "config/read_file.h"
#include "config/syntax.h"

namespace pktpit::router {
namespace {

constexpr size_t most_told = 20;

bool interface_exists(std::string_view name) {
    return if_nametoindex(std::string(name).c_str()) != 0;
}

/// An open file and where it really lies.
struct Source {
    Fd file;
    std::filesystem::path real;
};

Result<Source> open_source(const std::string& path) {
    auto file = open_regular_file(path);
    if (!file) return fail(path, file.error().message, "a readable file");
    std::error_code error;
    auto real = std::filesystem::canonical(path, error);
    struct stat opened {
    }, named{};
    const bool same = !error && ::fstat(file->get(), &opened) == 0 && ::stat(real.c_str(), &named) == 0 &&
                      opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    if (!same) return fail(path, "was exchanged while it was opened", "a file that stays", "try again");
    return Source{std::move(*file), std::move(real)};
}

/// `folder` itself may be a symbolic link.
bool lies_in(const std::filesystem::path& real, const std::string& folder) {
    std::error_code error;
    const auto above = std::filesystem::canonical(folder, error);
    if (error) return false;
    return std::mismatch(above.begin(), above.end(), real.begin(), real.end()).first == above.end();
}

std::string list_of(const std::vector<std::string>& folders) {
    std::string text;
    for (const auto& folder : folders)
        text += (text.empty() ? "" : ", ") + folder;
    return text;
}

PrepareRefusal forbidden(const std::string& file, const ReloadRules& rules) {
    const Error error{file, "a configuration is not taken from there",
                      "a file below " + list_of(rules.folders), "/api/reload_from names the folders"};
    return {{{error}, true, ReloadRefusal::Why::forbidden}, {error}};
}

tl::expected<Prepared, config::Errors> prepare_text(const std::string& file, std::string_view text) {
    auto config = config::load(file, text, interface_exists);
    if (!config) return tl::unexpected(std::move(config.error()));
    auto routes = read_wanted_routes(*config);
    if (!routes) return tl::unexpected(std::move(routes.error()));
    return Prepared{file, std::move(*config), std::move(*routes), std::string(text)};
}

}  // namespace

std::vector<size_t> lines_of(const config::Errors& errors, std::string_view text) {
    const config::LineIndex index(text);
    std::vector<size_t> lines;
    for (const Error& error : errors)
        lines.push_back(error.where.starts_with('/') ? index.line_of(error.where) : 0);
    return lines;
}

tl::expected<Prepared, PrepareRefusal> prepare_saved(const std::string& file, const std::string& text) {
    auto prepared = prepare_text(file, text);
    if (prepared) return std::move(*prepared);
    config::Errors errors = shortened(std::move(prepared.error()));
    const auto lines = lines_of(errors, text);
    return tl::unexpected(
        PrepareRefusal{{errors, true, ReloadRefusal::Why::wrong, lines}, std::move(errors), lines});
}

config::Errors shortened(config::Errors errors) {
    if (errors.size() <= most_told) return errors;
    const size_t more = errors.size() - most_told;
    errors.resize(most_told);
    errors.push_back(
        {"", "and " + std::to_string(more) + " more errors", "", "`pktpit check FILE` tells each of them"});
    return errors;
}

tl::expected<Prepared, config::Errors> prepare(const std::string& file) {
    const auto text = config::read_file(file);
    if (!text) return tl::unexpected(config::Errors{text.error()});
    auto prepared = prepare_text(file, *text);
    if (!prepared) return tl::unexpected(shortened(std::move(prepared.error())));
    return prepared;
}

tl::expected<Prepared, PrepareRefusal> prepare(const ReloadOrder& order, const ReloadRules& rules) {
    const std::string& file = order.path ? *order.path : rules.last_file;
    // Not even whether there is such a file is told of other places: by the path alone first, and by where it
    // really lies as soon as that is known.
    const auto written = std::filesystem::path(file).lexically_normal();
    const bool free = !order.path || written == rules.last_file;
    const auto named_below = [&](const std::string& folder) {
        const auto above = std::filesystem::path(folder).lexically_normal();
        return std::mismatch(above.begin(), above.end(), written.begin(), written.end()).first == above.end();
    };
    if (!free && std::ranges::none_of(rules.folders, named_below))
        return tl::unexpected(forbidden(file, rules));
    const auto refuse = [](config::Errors errors) {
        return tl::unexpected(PrepareRefusal{{errors}, std::move(errors)});
    };
    auto source = open_source(file);
    if (!source) return refuse({source.error()});
    const auto real_below = [&](const std::string& folder) { return lies_in(source->real, folder); };
    if (!free && std::ranges::none_of(rules.folders, real_below))
        return tl::unexpected(forbidden(file, rules));
    const auto text = config::read_file(source->file, file);
    if (!text) return refuse({text.error()});
    auto prepared = prepare_text(file, *text);
    if (prepared) return std::move(*prepared);
    const size_t count = prepared.error().size();
    config::Errors errors = shortened(std::move(prepared.error()));
    const auto lines = lines_of(errors, *text);
    if (!order.by || order.by->may_read(source->real))
        return tl::unexpected(
            PrepareRefusal{{errors, true, ReloadRefusal::Why::wrong, lines}, std::move(errors), lines});
    const Error secret{file, std::to_string(count) + (count == 1 ? " error" : " errors"), "",
                       "you may not read this file, so what is wrong with it is in the daemon's log alone"};
    return tl::unexpected(PrepareRefusal{{{secret}}, std::move(errors), lines});
}

}  // namespace pktpit::router
