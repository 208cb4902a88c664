#include <ostream>

#include "fib/table_generator.h"
#include "router/cli/commands.h"

namespace pktpit::router::cli {

int generate_table(const Session& session, Family family, size_t count, uint64_t seed) {
    std::string text;
    for (const auto& [prefix, next_hop] :
         fib::generate_table(family, count ? count : fib::internet_table_size(family), seed)) {
        text += session.json ? "{\"prefix\": \"" + prefix.to_string() +
                                   "\", \"next_hop\": " + std::to_string(next_hop) + "}"
                             : prefix.to_string() + ' ' + std::to_string(next_hop);
        text += '\n';
        if (text.size() < size_t{1} << 16) continue;
        session.terminal.out << text;
        text.clear();
    }
    session.terminal.out << text << std::flush;
    return session.terminal.out ? exit_ok : exit_wrong;
}

}  // namespace pktpit::router::cli
