// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as updates in text or JSON lines (MRT has a target of its own): never a crash, and what is
// accepted reads the same once it has been written.
#include <cstdlib>
#include <string>
#include <vector>

#include "fib/tables/update_reader.h"
#include "fib/tables/words.h"
#include "fib/tables/writing.h"

namespace {

using namespace pktpit;

struct SeenUpdate {
    uint64_t microseconds;
    Prefix prefix;
    std::string next_hop;
    bool operator==(const SeenUpdate&) const = default;
};

std::vector<SeenUpdate> read_again(const std::string& written) {
    std::vector<SeenUpdate> seen;
    const auto result = fib::read_updates_bytes(written, "again", {}, [&](const fib::Update& update, size_t) {
        seen.push_back({update.microseconds, update.prefix, std::string(update.next_hop)});
        return Result<void>{};
    });
    if (!result) std::abort();
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::vector<SeenUpdate> seen;
    std::string text, json;
    size_t last = 0;
    bool plain = true;
    const auto result =
        fib::read_updates_bytes(bytes, "fuzz", {}, [&](const fib::Update& update, size_t record) {
            if (record < last || update.withdraw != update.next_hop.empty()) std::abort();
            last = record;
            seen.push_back({update.microseconds, update.prefix, std::string(update.next_hop)});
            fib::append_update_text(text, update);
            fib::append_update_json(json, update);
            // Text lets any byte but blanks and '#' stand in an id, JSON does not.
            for (const char c : update.next_hop)
                plain = plain && c > ' ' && c < '\x7f';
            return Result<void>{};
        });
    if (result && result->visited != seen.size()) std::abort();
    if (!result && (result.error().where.find("fuzz") != 0 || result.error().message.empty())) std::abort();
    if (!seen.empty() && plain && (read_again(text) != seen || read_again(json) != seen)) std::abort();
    return 0;
}
