// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/read_any.h"

#include "fib/tables/file_source.h"

namespace pktpit::fib {
namespace {

Result<std::unique_ptr<PieceReader>> reader_for(std::string_view head, const std::string& name,
                                                const ReadOptions& options, const ReaderFactory& make,
                                                ReadSummary& summary) {
    summary.format = detect_format(head);
    if (options.peer && !options.peer_where_known && summary.format != Format::mrt) {
        return fail(name,
                    "peer " + options.peer->to_string() + " asked for, but this is " +
                        name_of(summary.format) + ", which says nothing about peers",
                    "MRT");
    }
    return make(summary.format, summary);
}

}  // namespace

Result<ReadSummary> read_any_file(const std::string& path, const ReadOptions& options,
                                  const ReaderFactory& make) {
    auto source = FileSource::open(path);
    if (!source) return tl::unexpected(source.error());
    ReadSummary summary;
    summary.compression = source->compression();
    std::unique_ptr<PieceReader> reader;
    std::string head;  // until there is enough of it to tell the format
    for (;;) {
        const auto piece = source->next();
        if (!piece) return tl::unexpected(piece.error());
        const std::string_view bytes(piece->data(), piece->size());
        Result<void> good;
        if (reader) {
            if (!bytes.empty()) good = reader->feed(bytes);
        } else {
            head += bytes;
            if (head.size() < detection_bytes && !bytes.empty()) continue;
            auto made = reader_for(head, path, options, make, summary);
            if (!made) return tl::unexpected(made.error());
            reader = std::move(*made);
            good = reader->feed(head);
        }
        if (!good) return tl::unexpected(good.error());
        if (bytes.empty()) break;
    }
    if (auto good = reader->finish(); !good) return tl::unexpected(good.error());
    return summary;
}

Result<ReadSummary> read_any_bytes(std::string_view bytes, const std::string& name,
                                   const ReadOptions& options, const ReaderFactory& make) {
    ReadSummary summary;
    auto reader = reader_for(bytes, name, options, make, summary);
    if (!reader) return tl::unexpected(reader.error());
    if (auto good = (*reader)->feed(bytes); !good) return tl::unexpected(good.error());
    if (auto good = (*reader)->finish(); !good) return tl::unexpected(good.error());
    return summary;
}

}  // namespace pktpit::fib
