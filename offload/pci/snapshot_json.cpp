// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <optional>

#include "base/json/parse.h"
#include "offload/pci/snapshot.h"

namespace pktpit::offload {
namespace {

using nlohmann::json;

constexpr const char* form = "pktpit PCI tree 1";
constexpr size_t most_functions = 65536;

std::string hex_of(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    // The rest of a space reads as zeros; a recording says its length and leaves them out.
    const size_t used = bytes.find_last_not_of('\0') + 1;
    std::string text;
    for (const char c : bytes.substr(0, used)) {
        text += digits[static_cast<uint8_t>(c) >> 4];
        text += digits[static_cast<uint8_t>(c) & 0xf];
    }
    return text;
}

int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

std::optional<std::string> bytes_of(std::string_view hex, size_t length) {
    if (hex.size() % 2 != 0 || hex.size() / 2 > length || length > 4096) return std::nullopt;
    std::string bytes(length, '\0');
    for (size_t i = 0; i < hex.size() / 2; i++) {
        const int high = digit_of(hex[2 * i]);
        const int low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes[i] = static_cast<char>(high << 4 | low);
    }
    return bytes;
}

std::string text_of(const json& object, const char* name) {
    const auto member = object.find(name);
    return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

Result<SnapshotFunction> parse_function(const json& value, const std::string& where) {
    if (!value.is_object()) return fail(where, "is no object", "a function's path, config and attributes");
    const std::string path = text_of(value, "path");
    if (path.empty()) return fail(where + "/path", "no path", "as below /sys/devices");
    const auto size = value.find("config_bytes");
    const bool sized = size != value.end() && size->is_number_unsigned();
    auto config = sized ? bytes_of(text_of(value, "config"), size->get<size_t>()) : std::nullopt;
    if (!config)
        return fail(where + "/config", "is no configuration space",
                    "config_bytes up to 4096, config as hexadecimal digits, trailing zeros left out");
    SnapshotFunction function{path, *config, {}};
    const auto attributes = value.find("attributes");
    if (attributes == value.end() || !attributes->is_object())
        return fail(where + "/attributes", "no attributes", "an object of strings");
    for (const auto& [name, text] : attributes->items())
        if (text.is_string()) function.attributes[name] = text.get<std::string>();
    return function;
}

}  // namespace

Result<PciSnapshot> parse_snapshot(std::string_view json_text) {
    const json value = parse_json(json_text);
    if (value.is_discarded() || !value.is_object())
        return fail({}, "is no JSON object", "what pktpit doctor --record wrote");
    if (text_of(value, "form") != form)
        return fail("/form", "is not \"" + std::string(form) + "\"", "what pktpit doctor --record wrote");
    const auto functions = value.find("functions");
    if (functions == value.end() || !functions->is_array())
        return fail("/functions", "no functions", "an array");
    if (functions->size() > most_functions)
        return fail("/functions", std::to_string(functions->size()) + " functions",
                    "at most " + std::to_string(most_functions));
    PciSnapshot snapshot{text_of(value, "about"), {}};
    for (const json& item : *functions) {
        auto function = parse_function(item, "/functions/" + std::to_string(snapshot.functions.size()));
        if (!function) return tl::unexpected(function.error());
        snapshot.functions.push_back(std::move(*function));
    }
    return snapshot;
}

std::string to_json_text(const PciSnapshot& snapshot) {
    nlohmann::ordered_json value = {{"form", form}, {"about", snapshot.about}};
    value["functions"] = nlohmann::ordered_json::array();
    for (const SnapshotFunction& function : snapshot.functions) {
        value["functions"].push_back({{"path", function.path},
                                      {"attributes", function.attributes},
                                      {"config_bytes", function.config.size()},
                                      {"config", hex_of(function.config)}});
    }
    return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace pktpit::offload
