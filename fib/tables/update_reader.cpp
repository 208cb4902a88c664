// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/update_reader.h"

#include "fib/tables/json_lines.h"
#include "fib/tables/mrt_updates.h"
#include "fib/tables/read_any.h"
#include "fib/tables/update_text.h"

namespace pktpit::fib {
namespace {

ReaderFactory factory(const std::string& name, const ReadOptions& options, const UpdateVisitor& visit) {
    return [&](Format format, ReadSummary& summary) -> std::unique_ptr<PieceReader> {
        if (format == Format::mrt) return std::make_unique<MrtUpdatesReader>(name, options, visit, summary);
        if (format == Format::json) return std::make_unique<JsonLinesReader>(name, visit, summary);
        return std::make_unique<UpdateTextReader>(name, visit, summary);
    };
}

/// An update file has no list of peers to count in.
Result<void> check(const ReadOptions& options, const std::string& name) {
    if (!options.peer || !options.peer->index()) return {};
    return fail(name,
                "peer " + options.peer->to_string() + " asked for, but updates do not number their peers",
                "an address, or AS64500");
}

}  // namespace

Result<ReadSummary> read_updates(const std::string& path, const ReadOptions& options,
                                 const UpdateVisitor& visit) {
    if (auto good = check(options, path); !good) return tl::unexpected(good.error());
    return read_any_file(path, options, factory(path, options, visit));
}

Result<ReadSummary> read_updates_bytes(std::string_view bytes, const std::string& name,
                                       const ReadOptions& options, const UpdateVisitor& visit) {
    if (auto good = check(options, name); !good) return tl::unexpected(good.error());
    return read_any_bytes(bytes, name, options, factory(name, options, visit));
}

}  // namespace pktpit::fib
