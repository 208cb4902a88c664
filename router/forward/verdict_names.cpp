// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

struct VerdictText {
    pp_action action;
    const char* name;
    const char* meaning;
};

constexpr std::array verdict_texts{
#define PP_VERDICT_TEXT(name, action, text, meaning) VerdictText{PP_ACTION_##action, text, meaning},
    PP_VERDICTS(PP_VERDICT_TEXT)
#undef PP_VERDICT_TEXT
};
static_assert(verdict_texts.size() == PP_VERDICT_COUNT && PP_VERDICT_COUNT <= PP_VERDICT_CAPACITY);

/// A number from the outside (counters, punt records) may be of a later version: "none" then.
const VerdictText& text_of(pp_verdict verdict) {
    const auto index = static_cast<size_t>(verdict);
    return verdict_texts[index < verdict_texts.size() ? index : size_t{PP_NONE}];
}

}  // namespace

pp_action action_of(pp_verdict verdict) {
    return text_of(verdict).action;
}
const char* name_of(pp_verdict verdict) {
    return text_of(verdict).name;
}
const char* meaning_of(pp_verdict verdict) {
    return text_of(verdict).meaning;
}

const char* name_of(pp_action action) {
    switch (action) {
        case PP_ACTION_FORWARD:
            return "forward";
        case PP_ACTION_HOST:
            return "host";
        case PP_ACTION_PUNT:
            return "punt";
        case PP_ACTION_TAKEN:
            return "taken";
        default:
            return "drop";
    }
}

}  // namespace pktpit::router
