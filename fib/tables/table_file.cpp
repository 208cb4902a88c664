// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_file.h"

#include "fib/tables/file_source.h"
#include "fib/tables/table_text.h"

namespace pktpit::fib {

Result<size_t> read_table_text(std::string_view text, const std::string& name, const TableVisitor& visit) {
    ReadSummary summary;
    TableTextReader reader(name, visit, summary);
    if (auto good = reader.feed(text); !good) return tl::unexpected(good.error());
    if (auto good = reader.finish(); !good) return tl::unexpected(good.error());
    return summary.visited;
}

Result<size_t> read_table_file(const std::string& path, const TableVisitor& visit) {
    auto source = FileSource::open_regular(path);
    if (!source) return tl::unexpected(source.error());
    ReadSummary summary;
    TableTextReader reader(path, visit, summary);
    for (;;) {
        const auto piece = source->next();
        if (!piece) return tl::unexpected(piece.error());
        if (piece->empty()) break;
        if (auto good = reader.feed({piece->data(), piece->size()}); !good)
            return tl::unexpected(good.error());
    }
    if (auto good = reader.finish(); !good) return tl::unexpected(good.error());
    return summary.visited;
}

}  // namespace pktpit::fib
