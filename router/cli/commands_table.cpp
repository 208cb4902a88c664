// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "fib/tables/table_generator.h"
#include "fib/tables/table_reader.h"
#include "fib/tables/update_reader.h"
#include "fib/tables/writing.h"
#include "router/cli/commands.h"
#include "router/cli/route_list.h"

namespace pktpit::router::cli {
namespace {

/// Collects what is written and hands it on in large pieces.
class Output {
  public:
    explicit Output(const Session& session) : session_(session) {}

    std::string& text() { return text_; }
    /// An error once the standard output cannot be written: a million routes more would not help.
    Result<void> flush_if_large() { return text_.size() < size_t{1} << 16 ? Result<void>{} : flush(); }
    Result<void> flush() {
        session_.terminal.out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
        text_.clear();
        if (!session_.terminal.out) return fail("standard output", "cannot write");
        return {};
    }

  private:
    const Session& session_;
    std::string text_;
};

/// Writes routes in the form asked for.
class RouteWriter {
  public:
    RouteWriter(const Session& session, const std::string& form) : output_(session), form_(form) {
        // The table's time is when it is written: neither text nor JSON says another one.
        if (form_ == "mrt") mrt_.emplace(output_.text(), static_cast<uint32_t>(std::time(nullptr)));
    }
    Result<void> add(const Prefix& prefix, std::string_view next_hop) {
        if (mrt_) {
            if (auto good = mrt_->add(prefix, next_hop); !good) return good;
        } else if (form_ == "json") {
            fib::append_route_json(output_.text(), prefix, next_hop);
        } else {
            fib::append_route_text(output_.text(), prefix, next_hop);
        }
        return output_.flush_if_large();
    }
    Result<void> finish() { return output_.flush(); }

  private:
    Output output_;
    std::string form_;
    std::optional<fib::MrtTableWriter> mrt_;
};

Result<void> convert_routes(const Session& session, const ConvertOptions& options, const std::string& form) {
    RouteWriter writer(session, form);
    if (options.sorted) {
        NextHopIds ids;
        auto list = load_routes(options.path, options.reading, ids);
        if (!list) return tl::unexpected(list.error());
        sort_routes(list->routes);
        for (const Route& route : list->routes)
            if (auto good = writer.add(route.prefix, ids[route.next_hop]); !good) return good;
    } else {
        const auto read = fib::read_table(
            options.path, options.reading,
            [&](const Prefix& prefix, std::string_view id, size_t) { return writer.add(prefix, id); });
        if (!read) return tl::unexpected(read.error());
    }
    return writer.finish();
}

Result<void> convert_updates(const Session& session, const ConvertOptions& options, const std::string& form) {
    if (form == "mrt") return fail("--to", "updates cannot be written as MRT", "text or json");
    if (options.sorted) return fail("--sorted", "the order of updates is their meaning", "a table");
    Output output(session);
    const auto append = form == "json" ? fib::append_update_json : fib::append_update_text;
    const auto read =
        fib::read_updates(options.path, options.reading, [&](const fib::Update& update, size_t) {
            append(output.text(), update);
            return output.flush_if_large();
        });
    if (!read) return tl::unexpected(read.error());
    return output.flush();
}

}  // namespace

int generate_table(const Session& session, Family family, size_t count, uint64_t seed) {
    RouteWriter writer(session, session.json ? "json" : "text");
    for (const auto& [prefix, next_hop] :
         fib::generate_table(family, count ? count : fib::internet_table_size(family), seed)) {
        if (!writer.add(prefix, std::to_string(next_hop))) return exit_wrong;
    }
    return writer.finish() ? exit_ok : exit_wrong;
}

int convert_table(const Session& session, const ConvertOptions& options) {
    const std::string form = !options.form.empty() ? options.form : session.json ? "json" : "text";
    const auto converted =
        options.updates ? convert_updates(session, options, form) : convert_routes(session, options, form);
    // Not print_failure(): what has been written already is no answer of its own, and none follows.
    if (!converted) session.terminal.print_error(converted.error());
    return converted ? exit_ok : exit_wrong;
}

}  // namespace pktpit::router::cli
