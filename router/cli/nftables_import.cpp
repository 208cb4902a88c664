// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/nftables_import.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/json/parse.h"
#include "config/config.h"
#include "router/cli/nftables_values.h"

namespace pktpit::router::cli {
namespace {

using nft::Values;
using nlohmann::json;

/// A set of addresses and ports would be as many rules as the product of their sizes.
constexpr size_t most_of_one_rule = 4096;

std::string text_at(const json& node, const char* key) {
    const auto found = node.is_object() ? node.find(key) : node.end();
    return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json member(const json& node, const char* key) {
    const auto found = node.is_object() ? node.find(key) : node.end();
    return found != node.end() ? *found : json();
}

/// One that stands alone: {"accept": null} or "accept".
std::string verb_of(const json& statement) {
    if (statement.is_string()) return statement.get<std::string>();
    return statement.is_object() && statement.size() == 1 ? statement.begin().key() : std::string();
}

/// What a rule says so far: for each key of a filter's rule the values that it may have.
struct Translation {
    std::map<std::string, Values> keys;
    std::optional<std::string> action;
    bool v4 = true, v6 = true;  ///< families that it may be of
    std::vector<std::string> notes;
};

class Importer {
  public:
    explicit Importer(const json& objects) : objects_(objects) {}

    ImportedFilters run() {
        for (const json& one : objects_) {
            if (const json set = member(one, "set"); set.is_object())
                sets_[key_of(set, "name")] = member(set, "elem");
            if (const json chain = member(one, "chain"); chain.is_object()) add_chain(chain);
            if (one.contains("map"))
                out_.left.push_back("map " + text_at(one["map"], "name") + ": maps have no equal");
        }
        for (const json& one : objects_)
            if (const json rule = member(one, "rule"); rule.is_object()) add_rule(rule);
        for (const auto& [key, chain] : chains_)
            if (chain.drops) filters_[chain.filter].push_back({{"action", "drop"}});
        check();
        out_.filters = std::make_unique<json>(std::move(filters_));
        return std::move(out_);
    }

  private:
    struct Chain {
        std::string filter;
        std::string label;
        bool drops = false;  ///< what no rule decides about
    };

    static std::string key_of(const json& node, const char* name) {
        return text_at(node, "family") + " " + text_at(node, "table") + " " + text_at(node, name);
    }

    void add_chain(const json& chain) {
        const std::string label = "chain " + key_of(chain, "name");
        if (!chain.contains("hook")) return;  // met by jumps alone
        if (text_at(chain, "hook") != "forward" || text_at(chain, "type") != "filter") {
            out_.left.push_back(label + ": hook " + text_at(chain, "hook") + ", type " +
                                text_at(chain, "type") + ": only filters of the forward hook are translated");
            return;
        }
        const std::string family = text_at(chain, "family");
        if (family != "inet" && family != "ip" && family != "ip6") {
            out_.left.push_back(label + ": its family is none of inet, ip, ip6");
            return;
        }
        Chain& known = chains_[key_of(chain, "name")];
        known.label = label;
        known.drops = text_at(chain, "policy") == "drop";
        known.filter = name_for(text_at(chain, "table") + "-" + text_at(chain, "name"));
        filters_[known.filter] = json::array();
    }

    /// A name that a filter may have, and that none has yet.
    std::string name_for(std::string wanted) const {
        constexpr size_t longest = 56;
        std::ranges::replace_if(
            wanted,
            [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.'; }, '-');
        wanted.resize(std::min(wanted.size(), longest));
        std::string name = wanted;
        for (int number = 2; filters_.contains(name); number++)
            name = wanted + "-" + std::to_string(number);
        return name;
    }

    void add_rule(const json& rule) {
        const auto chain = chains_.find(key_of(rule, "chain"));
        const json handle = member(rule, "handle");
        const std::string label =
            "rule " + (handle.is_number() ? handle.dump() : "?") + " of " + key_of(rule, "chain");
        if (chain == chains_.end()) {
            if (other_chain_told_.insert(key_of(rule, "chain")).second)
                out_.left.push_back("rules of " + key_of(rule, "chain") + ": the chain is not translated");
            return;
        }
        Translation translation;
        translation.v4 = text_at(rule, "family") != "ip6";
        translation.v6 = text_at(rule, "family") != "ip";
        const json statements = member(rule, "expr");
        for (const json& statement : statements.is_array() ? statements : json::array()) {
            if (auto done = add_statement(statement, rule, translation); !done) {
                out_.left.push_back(label + ": " + done.error().message);
                return;
            }
        }
        if (!translation.action) return;  // it counts, or logs
        if (auto done = emit(translation, chain->second.filter); !done) {
            out_.left.push_back(label + ": " + done.error().message);
            return;
        }
        for (const std::string& note : translation.notes)
            out_.notes.push_back(std::string(label).append(": ").append(note));
    }

    Result<void> add_statement(const json& statement, const json& rule, Translation& out) {
        const std::string verb = verb_of(statement);
        if (verb == "accept" || verb == "drop") {
            out.action = verb;
        } else if (verb == "reject") {
            out.action = "drop";
            out.notes.emplace_back("reject became drop: no ICMP error is sent");
        } else if (verb == "log") {
            out.notes.emplace_back("log is left out: pktpit show filters counts");
        } else if (verb == "match" && statement.is_object()) {
            return add_match(statement["match"], rule, out);
        } else if (verb != "counter") {
            return fail(
                "", verb.empty() ? "a statement that is not known here" : "\"" + verb + "\" has no equal");
        }
        return {};
    }

    Result<void> add_match(const json& match, const json& rule, Translation& out) {
        const std::string op = text_at(match, "op");
        if (op != "==" && op != "in") return fail("", "\"" + op + "\": filters know what is equal alone");
        const json left = member(match, "left");
        const auto right = elements_of(member(match, "right"), rule);
        if (!right) return tl::unexpected(right.error());
        if (const json masked = member(left, "&"); masked.is_array() && masked.size() == 2) {
            const json payload = member(masked[0], "payload");
            if (text_at(payload, "protocol") != "tcp" || text_at(payload, "field") != "flags")
                return fail("", "bits of a field other than TCP's flags");
            return set_tcp(out, "tcp_flags", nft::tcp_flags(masked[1], member(match, "right")));
        }
        if (const json payload = member(left, "payload"); payload.is_object())
            return add_payload(text_at(payload, "protocol"), text_at(payload, "field"), match, *right, out);
        if (const json meta = member(left, "meta"); meta.is_object())
            return add_meta(text_at(meta, "key"), *right, out);
        if (left.is_object() && left.contains("ct"))
            return fail(
                "", "connection tracking: a filter keeps no state; \"to_kernel\" gives packets to who does");
        return fail("", "a match that is not known here");
    }

    Result<void> add_payload(const std::string& protocol, const std::string& field, const json& match,
                             const Values& right, Translation& out) {
        const bool ip = protocol == "ip";
        if (ip || protocol == "ip6") {
            (ip ? out.v6 : out.v4) = false;
            if (field == "saddr") return set(out, "source", nft::addresses(right));
            if (field == "daddr") return set(out, "destination", nft::addresses(right));
            if (field == (ip ? "protocol" : "nexthdr")) return set(out, "protocol", nft::protocols(right));
        }
        constexpr std::array with_ports{"tcp", "udp", "sctp", "th"};
        if (std::ranges::find(with_ports, protocol) != with_ports.end() &&
            (field == "sport" || field == "dport")) {
            if (protocol != "th")
                if (auto done = set(out, "protocol", Values{protocol}); !done) return done;
            return set(out, field == "sport" ? "source_port" : "destination_port", nft::ports(right));
        }
        if (protocol == "tcp" && field == "flags")
            return set_tcp(out, "tcp_flags", nft::tcp_flag(member(match, "right")));
        if ((protocol == "icmp" || protocol == "icmpv6") && field == "type") {
            const bool v6 = protocol == "icmpv6";
            (v6 ? out.v4 : out.v6) = false;
            if (auto done = set(out, "protocol", Values{protocol}); !done) return done;
            return set(out, "icmp_type", nft::icmp_types(right, v6));
        }
        std::string what = protocol;
        return fail("", what.append(" ").append(field) + " is nothing that a filter looks at");
    }

    Result<void> add_meta(const std::string& key, const Values& right, Translation& out) {
        if (key == "l4proto") return set(out, "protocol", nft::protocols(right));
        if (key == "nfproto" || key == "protocol") {
            const auto has = [&](const char* a, const char* b) {
                return std::ranges::any_of(right, [&](const json& one) { return one == a || one == b; });
            };
            out.v4 = out.v4 && has("ipv4", "ip");
            out.v6 = out.v6 && has("ipv6", "ip6");
            return {};
        }
        if (key.starts_with("iif") || key.starts_with("oif"))
            return fail("",
                        "by interface: name the filter as the filter_in or filter_out of that one, and leave "
                        "this out");
        return fail("", "meta " + key + " is nothing that a filter looks at");
    }

    /// The elements of a set, named or not, or the one value.
    Result<Values> elements_of(const json& right, const json& rule) const {
        json list = right;
        if (right.is_string() && right.get_ref<const std::string&>().starts_with('@')) {
            const auto set = sets_.find(text_at(rule, "family") + " " + text_at(rule, "table") + " " +
                                        right.get<std::string>().substr(1));
            if (set == sets_.end()) return fail("", "its set is not there");
            list = set->second;
        } else if (right.is_object() && right.contains("set")) {
            list = right["set"];
        }
        if (list.is_null()) list = json::array();
        Values values;
        for (const json& one : list.is_array() ? list : json::array({list})) {
            const json element = member(member(one, "elem"), "val");  // one with a timeout, or a counter
            values.push_back(element.is_null() ? one : element);
        }
        return values;
    }

    static Result<void> set(Translation& out, const std::string& key, Result<Values> values) {
        if (!values) return tl::unexpected(values.error());
        const auto [known, added] = out.keys.emplace(key, *values);
        if (added || known->second == *values) return {};
        // tcp dport beside l4proto { tcp, udp }: both hold.
        Values both;
        for (const json& one : known->second)
            if (std::ranges::find(*values, one) != values->end()) both.push_back(one);
        if (key != "protocol" || both.empty()) return fail("", key + " is asked for twice");
        known->second = both;
        return {};
    }
    static Result<void> set_tcp(Translation& out, const std::string& key, Result<Values> values) {
        if (auto done = set(out, "protocol", Values{"tcp"}); !done) return done;
        return set(out, key, std::move(values));
    }

    /// A rule for each choice of values.
    Result<void> emit(Translation& translation, const std::string& filter) {
        if (!translation.v4 && !translation.v6) return fail("", "it is of no family, and matches nothing");
        auto& keys = translation.keys;
        if (translation.v4 != translation.v6 && !keys.contains("source") && !keys.contains("destination"))
            keys["source"] = {translation.v4 ? "0.0.0.0/0" : "::/0"};
        size_t count = 1;
        for (const auto& [key, values] : keys)
            if (count *= values.size(); count > most_of_one_rule)
                return fail("", "its sets would be more than " + std::to_string(most_of_one_rule) + " rules");
        for (size_t choice = 0; choice < count; choice++) {
            json rule{{"action", *translation.action}};
            size_t rest = choice;
            for (const auto& [key, values] : keys) {
                rule[key] = values[rest % values.size()];
                rest /= values.size();
            }
            filters_[filter].push_back(std::move(rule));
        }
        return {};
    }

    /// What a configuration would refuse goes to what is left.
    void check() {
        const json document{{"interfaces", json::object()}, {"filters", filters_}};
        const auto parsed = config::parse(document.dump(-1, ' ', false, json::error_handler_t::replace), "/");
        if (parsed) return;
        std::map<std::string, std::set<size_t>> wrong;
        for (const Error& error : parsed.error()) {
            const size_t behind = std::string_view("/filters/").size();
            const size_t slash = error.where.find('/', behind);
            size_t index = 0;
            const char* end = error.where.data() + error.where.size();
            const bool of_rule =
                error.where.starts_with("/filters/") && slash != std::string::npos &&
                std::from_chars(error.where.data() + slash + 1, end, index).ec == std::errc();
            const std::string filter = of_rule ? error.where.substr(behind, slash - behind) : std::string();
            if (!of_rule || !filters_.contains(filter)) {
                out_.left.push_back("all of it: " + error.to_string());
                filters_ = json::object();
                return;
            }
            if (wrong[filter].insert(index).second && index < filters_[filter].size())
                out_.left.push_back(filters_[filter][index].dump() + ": " + error.message);
        }
        for (const auto& [filter, indices] : wrong)
            for (auto index = indices.rbegin(); index != indices.rend(); index++)
                if (*index < filters_[filter].size()) filters_[filter].erase(*index);
    }

    const json& objects_;
    std::map<std::string, json> sets_;
    std::map<std::string, Chain> chains_;  ///< that are translated
    std::set<std::string> other_chain_told_;
    json filters_ = json::object();
    ImportedFilters out_;
};

}  // namespace

Result<ImportedFilters> import_nftables(const std::string& text) {
    const json document = parse_json(text);
    const json objects = member(document, "nftables");
    if (!objects.is_array())
        return fail("", "not a list of nftables' rules in JSON", "what `nft -j list ruleset` prints",
                    "nft -j list ruleset > rules.json");
    for (const json& one : objects)
        if (!one.is_object())
            return fail("", "an entry of the list is no object", "what `nft -j list ruleset` prints", "");
    return Importer(objects).run();
}

}  // namespace pktpit::router::cli
