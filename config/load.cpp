// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>

#include "base/json/pointer.h"
#include "config/meaning.h"
#include "config/prune.h"
#include "config/read_file.h"
#include "config/syntax.h"
#include "config/validate.h"

namespace pktpit::config {
namespace {

using nlohmann::json;

std::string resolved(const std::string& base_directory, const std::string& path) {
    return (std::filesystem::path(base_directory) / path).lexically_normal().string();
}

void check_meaning(const Draft& draft, const InterfaceExists& exists, Errors& errors) {
    ConnectedNets nets(draft);
    check_interfaces(draft, exists, errors);
    check_vrfs(draft, errors);
    check_filters(draft, errors);
    check_guards(draft, errors);
    check_sflow(draft, errors);
    check_workers(draft.settings, errors);
    check_vfio(draft, errors);
    check_dpdk(draft, exists, errors);
    check_model(draft, exists, errors);
    check_addresses(draft, nets, errors);
    check_aggregation(draft, nets, errors);
    check_routes(draft, nets, errors);
    check_routes_files(draft, nets, errors);
    check_neighbours(draft, nets, errors);
    check_kernel_routes(draft.settings, errors);
}

void check_files_exist(const Draft& draft, Errors& errors) {
    for (const PlacedRoutesFile& file : draft.routes_files) {
        std::string path = resolved(draft.settings.base_directory, file.value.path);
        if (std::string reason = why_unreadable(path); !reason.empty())
            errors.push_back(
                {at(file.where, "path"), in_quotes(path) + ": " + reason, "a readable file",
                 file.value.path.starts_with('/') ? "" : "relative to the directory of the configuration"});
    }
    for (const PlacedInterface& one : draft.interfaces) {
        if (!one.value.wire || one.value.wire->read.empty()) continue;
        const std::string path = resolved(draft.settings.base_directory, one.value.wire->read);
        if (std::string reason = why_unreadable(path); !reason.empty())
            errors.push_back({at(at(one.where, "wire"), "read"), in_quotes(path) + ": " + reason,
                              "a readable pcap file", ""});
    }
}

/// A key may hold anything; what goes to terminals and logs may not.
void make_printable(Errors& errors) {
    auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    for (Error& error : errors)
        for (std::string* text : {&error.where, &error.message, &error.expected, &error.hint})
            std::ranges::replace_if(*text, is_control, '?');
}

tl::unexpected<Errors> refused(Errors errors) {
    make_printable(errors);
    return tl::unexpected(std::move(errors));
}

tl::expected<Config, Errors> parse_all(std::string_view text, std::string base_directory,
                                       const InterfaceExists& exists, bool check_files) {
    Document document = read_json(text);
    if (!document.readable) return refused(std::move(document.errors));
    Errors errors = std::move(document.errors);
    for (Error& error : validate(document.value))
        errors.push_back(std::move(error));
    const bool good_form = errors.empty();
    // Their meaning is looked at beside errors of form, too, as far as it can be told.
    const Pruned pruned(document.value, errors);
    if (!good_form && !validate(document.value).empty()) return refused(std::move(errors));

    Errors meant;
    Draft draft = read_draft(document.value, meant);
    for (PlacedInterface& one : draft.interfaces)
        one.addresses_broken = one.addresses_broken || pruned.has_doubtful_addresses(one.value.name);
    draft.settings.base_directory = std::move(base_directory);
    check_meaning(draft, exists, meant);
    if (check_files) check_files_exist(draft, meant);
    if (good_form && meant.empty()) return finish(std::move(draft));
    for (Error& error : good_form ? std::move(meant) : pruned.those_of_the_whole(std::move(meant)))
        errors.push_back(std::move(error));
    return refused(std::move(errors));
}

}  // namespace

tl::expected<Config, Errors> parse(std::string_view json_text, std::string base_directory,
                                   const InterfaceExists& interface_exists) {
    return parse_all(json_text, std::move(base_directory), interface_exists, false);
}

tl::expected<Config, Errors> load(const std::string& path, const InterfaceExists& interface_exists) {
    auto text = read_file(path);
    if (!text) return tl::unexpected(Errors{text.error()});
    return load(path, *text, interface_exists);
}

tl::expected<Config, Errors> load(const std::string& path, std::string_view text,
                                  const InterfaceExists& interface_exists) {
    std::error_code ignored;
    auto absolute = std::filesystem::absolute(path, ignored);
    return parse_all(text, absolute.parent_path().string(), interface_exists, true);
}

std::string path_of(const RoutesFile& file, const Config& config) {
    return file_path(file.path, config);
}

std::string file_path(const std::string& path, const Config& config) {
    return resolved(config.base_directory, path);
}

}  // namespace pktpit::config
