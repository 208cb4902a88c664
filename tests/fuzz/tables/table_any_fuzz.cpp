// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a table in any form: never a crash, and what is accepted reads the same once it has been
// written as text, as JSON lines and as MRT.
#include <cstdlib>
#include <string>
#include <vector>

#include "fib/tables/table_reader.h"
#include "fib/tables/writing.h"

namespace {

using namespace pktpit;
using Routes = std::vector<std::pair<Prefix, std::string>>;

Result<fib::ReadSummary> read(std::string_view bytes, const std::string& name, Routes& routes) {
    return fib::read_table_bytes(bytes, name, {}, [&](const Prefix& prefix, std::string_view id, size_t) {
        if (id.empty() || Prefix::parse(prefix.to_string()) != prefix) std::abort();
        routes.emplace_back(prefix, id);
        return Result<void>{};
    });
}

void check_again(const std::string& written, const Routes& routes) {
    Routes again;
    if (!read(written, "again", again) || again != routes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Routes routes;
    const auto result = read({reinterpret_cast<const char*>(data), size}, "fuzz", routes);
    if (result && result->visited != routes.size()) std::abort();
    if (!result && (result.error().where.find("fuzz") != 0 || result.error().message.empty())) std::abort();
    if (routes.empty()) return 0;

    std::string text, json, mrt;
    fib::MrtTableWriter writer(mrt, 1470009600);
    bool plain = true, addresses = true;
    for (const auto& [prefix, id] : routes) {
        fib::append_route_text(text, prefix, id);
        fib::append_route_json(json, prefix, id);
        // MRT holds addresses alone, in their one form. Text lets any byte but blanks and '#' stand in an id,
        // JSON does not.
        const auto address = IpAddress::parse(id);
        if (writer.add(prefix, id).has_value() != address.has_value()) std::abort();
        addresses = addresses && address && address->to_string() == id;
        for (const char c : id)
            plain = plain && c > ' ' && c < '\x7f';
    }
    if (plain) check_again(json, routes);
    if (plain) check_again(text, routes);
    if (addresses) check_again(mrt, routes);
    return 0;
}
