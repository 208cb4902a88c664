// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration: an answer without a crash, errors fit to be printed and to be found again in
// the text, and valid configurations that survive being written and read.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>

#include "config/config.h"
#include "config/syntax.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
void look_at_error(const pktpit::config::LineIndex& lines, const pktpit::Error& error) {
    demand(!error.message.empty(), "an error says what is wrong");
    for (const std::string* part : {&error.where, &error.message, &error.expected, &error.hint})
        for (char c : *part)
            demand(static_cast<unsigned char>(c) >= ' ', "errors hold no control characters");
    // Throws where the text is no UTF-8.
    (void)nlohmann::json(error.to_string()).dump();
    bool is_place_in_text = error.where.starts_with("line ") || lines.line_of(error.where) > 0;
    demand(is_place_in_text, "errors have a line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::config;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto parsed = parse(text, "/base", [](std::string_view name) { return name != "gone"; });
    if (!parsed) {
        demand(!parsed.error().empty(), "invalid means at least one error");
        const LineIndex lines(text);
        for (const pktpit::Error& error : parsed.error())
            look_at_error(lines, error);
        return 0;
    }
    auto again = parse(to_json(*parsed).dump(), "/base");
    demand(again.has_value(), "what was written is valid");
    demand(*again == *parsed, "what was written is what was read");
    demand(describe_difference(*parsed, *again).empty(), "no difference to itself");
    return 0;
}
