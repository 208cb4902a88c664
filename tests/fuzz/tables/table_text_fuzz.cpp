// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a route file: never a crash, and what is accepted is well-formed and counted.
#include <cstdlib>
#include <cstring>

#include "fib/tables/table_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    size_t visited = 0;
    size_t last_line = 0;
    const auto result =
        fib::read_table_text(text, "fuzz", [&](const Prefix& prefix, std::string_view id, size_t line) {
            const auto again = Prefix::parse(prefix.to_string());
            if (!again || *again != prefix || id.empty() || id.find_first_of(" \t\r\n#") != id.npos ||
                line <= last_line)
                std::abort();
            last_line = line;
            visited++;
            return Result<void>{};
        });
    if (result && *result != visited) std::abort();
    if (!result && (result.error().where.find("fuzz:") != 0 || result.error().message.empty())) std::abort();
    return 0;
}
