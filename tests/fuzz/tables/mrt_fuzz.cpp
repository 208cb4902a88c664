// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as an MRT file, as a table and as updates: never a crash, what is visited is well-formed, and
// pieces of any size give the same as the whole.
#include <cstdlib>
#include <string>

#include "fib/tables/mrt_table.h"
#include "fib/tables/mrt_updates.h"

namespace {

using namespace pktpit;

struct Seen {
    std::string text;
    bool good = false;
    Error error;
    fib::ReadSummary summary;

    bool operator==(const Seen& other) const {
        return text == other.text && good == other.good && error == other.error &&
               summary.visited == other.summary.visited && summary.records == other.summary.records &&
               summary.skipped.by_name() == other.summary.skipped.by_name();
    }
};

void check_route(const Prefix& prefix, std::string_view next_hop) {
    const auto again = Prefix::parse(prefix.to_string());
    if (!again || *again != prefix || !IpAddress::parse(next_hop)) std::abort();
}

template <class Reader, class Visitor>
void run(Seen& seen, std::string_view bytes, size_t piece, const Visitor& visit) {
    static const std::string name = "fuzz";
    static const fib::ReadOptions options;
    Reader reader(name, options, visit, seen.summary);
    Result<void> result;
    for (size_t at = 0; at < bytes.size() && result; at += piece)
        result = reader.feed(bytes.substr(at, piece));
    if (result) result = reader.finish();
    seen.good = result.has_value();
    if (!result) seen.error = result.error();
    if (!result && (seen.error.where.find(name) != 0 || seen.error.message.empty())) std::abort();
}

Seen as_table(std::string_view bytes, size_t piece) {
    Seen seen;
    const fib::TableVisitor visit = [&](const Prefix& prefix, std::string_view id, size_t record) {
        check_route(prefix, id);
        seen.text += std::to_string(record) + " " + prefix.to_string() + " " + std::string(id) + "\n";
        return Result<void>{};
    };
    run<fib::MrtTableReader>(seen, bytes, piece, visit);
    return seen;
}

Seen as_updates(std::string_view bytes, size_t piece) {
    Seen seen;
    const fib::UpdateVisitor visit = [&](const fib::Update& update, size_t record) {
        if (update.withdraw != update.next_hop.empty()) std::abort();
        check_route(update.prefix, update.withdraw ? "::" : update.next_hop);
        seen.text += std::to_string(record) + " " + update.prefix.to_string() + " " +
                     std::string(update.next_hop) + "\n";
        return Result<void>{};
    };
    run<fib::MrtUpdatesReader>(seen, bytes, piece, visit);
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    // The first byte chooses the pieces.
    const size_t piece = 1 + data[0];
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Seen table = as_table(bytes, bytes.size() + 1);
    const Seen updates = as_updates(bytes, bytes.size() + 1);
    if (!(table == as_table(bytes, piece)) || !(updates == as_updates(bytes, piece))) std::abort();
    return 0;
}
