// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/cli/next_hops.h"
#include "router/cli/route_words.h"

namespace pktpit::router::cli {

int change_route(const Session& session, const std::string& method, const std::vector<std::string>& words,
                 Family default_family) {
    const bool removal = method == "DELETE";
    const auto route =
        removal ? parse_route_to_delete(words, default_family) : parse_route_words(words, default_family);
    if (!route) return print_failure(session, route.error(), exit_unusable);

    const auto reply = session.client.send(method, "/v1/routes", *route);
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) return print_refusal(session, *reply);
    if (session.json) {
        print_json(session, reply->body);
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    out << printable(text_of(reply->body, "prefix"));
    if (removal) {
        out << " removed\n";
        return exit_ok;
    }
    for (const Cell& hop : next_hop_cells(part_of(reply->body, "route")))
        out << ' ' << printable(hop.text);
    out << (flag_of(reply->body, "changed") ? "" : " (as it was)") << '\n';
    return exit_ok;
}

}  // namespace pktpit::router::cli
