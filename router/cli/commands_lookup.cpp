// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/cli/line_reader.h"
#include "router/cli/next_hops.h"
#include "router/cli/route_table.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\v\f";
    const size_t start = text.find_first_not_of(blanks);
    if (start == std::string_view::npos) return {};
    return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

/// Answers one address a call and keeps the text together: a million answers are a few hundred writes.
class TableLookup {
  public:
    TableLookup(const Session& session, const RouteTable& table) : session_(session), table_(table) {
        if (session_.json) text_ = "{\"results\": [";
    }

    /// `place`: of the address, for errors.
    template <class Place>
    void answer(std::string_view word, const Place& place) {
        const auto address = IpAddress::parse(word);
        if (!address) {
            flush();
            session_.terminal.print_error({place(),
                                           "\"" + std::string(word.substr(0, 100)) + "\" is not an address",
                                           "an IPv4 or IPv6 address", ""});
            bad_++;
            return;
        }
        const auto match = table_.lookup(*address);
        if (session_.json) {
            const json entry = {{"address", word},
                                {"prefix", match ? json(match->first.to_string()) : json()},
                                {"next_hop", match ? json(match->second) : json()}};
            text_.append(answered_ ? ",\n  " : "\n  ").append(entry.dump());
        } else {
            text_.append(word).append(" ");
            if (match) {
                text_.append(prefix_text(match->first)).append(" ").append(match->second).append("\n");
            } else {
                text_.append("- -\n");
            }
        }
        answered_++;
        if (text_.size() > (64U << 10)) write();
    }

    void flush() {
        write();
        session_.terminal.out.flush();
    }
    int finish() {
        if (session_.json) text_ += "\n]}\n";
        flush();
        return bad_ ? exit_wrong : exit_ok;
    }

  private:
    void write() {
        session_.terminal.out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
        text_.clear();
    }

    /// Neighbouring addresses often share the prefix, and writing an IPv6 prefix costs more than looking it
    /// up.
    const std::string& prefix_text(const Prefix& prefix) {
        if (prefix_text_.empty() || prefix != prefix_) {
            prefix_ = prefix;
            prefix_text_ = prefix.to_string();
        }
        return prefix_text_;
    }

    const Session& session_;
    const RouteTable& table_;
    std::string text_;
    Prefix prefix_;
    std::string prefix_text_;
    size_t answered_ = 0;
    size_t bad_ = 0;
};

}  // namespace

int lookup(const Session& session, const std::vector<std::string>& addresses, const std::string& vrf) {
    for (const auto& address : addresses) {
        if (const auto parsed = IpAddress::parse(address); !parsed) {
            return print_failure(session,
                                 {"", "\"" + address + "\" is not an address", "an IPv4 or IPv6 address", ""},
                                 exit_wrong);
        }
    }
    json wanted{{"addresses", addresses}};
    if (!vrf.empty()) wanted["vrf"] = vrf;
    const auto reply = session.client.send("POST", "/v1/lookup", wanted);
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) return print_refusal(session, *reply);
    if (session.json) {
        print_json(session, reply->body);
        return exit_ok;
    }
    for (const json& result : part_of(reply->body, "results")) {
        session.terminal.out << printable(text_of(result, "address")) << ' '
                             << printable(text_of(result, "prefix"));
        if (text_of(result, "prefix", "").empty()) {
            session.terminal.out << " -\n";
            continue;
        }
        for (const Cell& hop : next_hop_cells(result))
            session.terminal.out << ' ' << printable(hop.text);
        session.terminal.out << '\n';
    }
    return exit_ok;
}

int lookup_in_table(const Session& session, const std::string& table_path, const fib::ReadOptions& reading,
                    const std::vector<std::string>& addresses) {
    const auto table = RouteTable::load(table_path, reading);
    if (!table) return print_failure(session, table.error(), exit_wrong);
    TableLookup lookup(session, *table);
    for (size_t i = 0; i < addresses.size(); i++) {
        lookup.answer(addresses[i], [&] { return "argument " + std::to_string(i + 1); });
    }
    if (!addresses.empty()) return lookup.finish();

    const auto read = read_lines(
        session.terminal.input,
        [&](std::string_view line, size_t number) {
            const std::string_view word = trimmed(line.substr(0, line.find('#')));
            if (!word.empty()) lookup.answer(word, [&] { return "line " + std::to_string(number); });
            return session.terminal.out.good();
        },
        [&] { lookup.flush(); });
    const int status = lookup.finish();
    if (!read) {
        session.terminal.print_error(read.error());
        return exit_wrong;
    }
    return status;
}

}  // namespace pktpit::router::cli
