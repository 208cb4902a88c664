// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <iostream>
#include <iterator>

#include "config/read_file.h"
#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/cli/nftables_import.h"

namespace pktpit::router::cli {

int import_filters(const Session& session, const std::string& path) {
    const auto text = path == "-"
                          ? Result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
                          : config::read_file(path);
    if (!text) return print_failure(session, text.error(), exit_unusable);
    auto imported = import_nftables(*text);
    if (!imported) {
        imported.error().where = path;
        return print_failure(session, imported.error(), exit_wrong);
    }
    nlohmann::json body{{"filters", *imported->filters}};
    if (session.json) {
        body["left"] = imported->left;
        body["notes"] = imported->notes;
        print_json(session, body);
        return imported->left.empty() ? exit_ok : exit_wrong;
    }
    session.terminal.out << body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    for (const std::string& one : imported->notes)
        session.terminal.err << "note: " << printable(one) << '\n';
    for (const std::string& one : imported->left)
        session.terminal.err << "not translated: " << printable(one) << '\n';
    return imported->left.empty() ? exit_ok : exit_wrong;
}

}  // namespace pktpit::router::cli
