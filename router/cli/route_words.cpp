// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/route_words.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "config/config.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

constexpr std::string_view types[] = {"unicast", "blackhole", "unreachable", "prohibit"};
/// What people type for iproute2 and what we have nothing for.
constexpr std::string_view foreign[] = {"src",  "proto", "protocol", "table", "scope", "onlink",  "advmss",
                                        "pref", "realm", "nhid",     "encap", "tos",   "dsfield", "expires"};
constexpr uint64_t least_mtu = 68;  // RFC 791 3.2; of IPv6 prefixes the daemon asks for more
constexpr const char* grammar =
    "PREFIX [via ADDRESS] [dev INTERFACE] [weight N] [nexthop …] [backup …] [blackhole|unreachable|"
    "prohibit] [preference N] [metric N] [mtu N] [counters] [vrf NAME]";

template <size_t Count>
bool is_one_of(std::string_view word, const std::string_view (&words)[Count]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string in_quotes(std::string_view word) {
    return std::string("\"").append(word).append("\"");
}

/// A prefix as iproute2 takes it: an address alone is a host.
Result<Prefix> parse_prefix(const std::string& word) {
    if (word.find('/') == std::string::npos) {
        const auto address = IpAddress::parse(word);
        if (!address)
            return fail("", in_quotes(word) + " is not a prefix",
                        "192.0.2.0/24, 2001:db8::/32, an address or default");
        return Prefix::of(*address, address->bits());
    }
    if (auto prefix = Prefix::parse(word)) return *prefix;
    // iproute2 refuses host bits too, but does not say what would do.
    if (const auto net = InterfaceAddress::parse(word)) {
        return fail("", in_quotes(word) + " has bits set behind its length", net->net().to_string());
    }
    return fail("", in_quotes(word) + " is not a prefix",
                "192.0.2.0/24, 2001:db8::/32, an address or default");
}

class WordParser {
  public:
    WordParser(const std::vector<std::string>& words, Family default_family)
        : words_(words), default_family_(default_family) {}

    Result<json> parse() {
        while (at_ < words_.size()) {
            if (auto good = take_word(words_[at_++]); !good) return tl::unexpected(good.error());
        }
        if (!prefix_ && !is_default_) return fail("", "no prefix", grammar);
        if (auto good = close_hop(); !good) return tl::unexpected(good.error());
        return finish();
    }

    [[nodiscard]] bool says_more_than_a_prefix() const {
        return !hops_.empty() || preference_ || metric_ || mtu_ || counters_;
    }

  private:
    Result<void> take_word(const std::string& word) {
        if (is_one_of(word, types)) return take_type(word);
        if (word == "nexthop" || word == "backup") return take_nexthop(word == "backup");
        if (word == "via") return take_via();
        if (word == "dev" || word == "oif") return take_dev();
        if (word == "weight") {
            const auto weight = take_number(word, 1, std::numeric_limits<uint16_t>::max());
            if (!weight) return tl::unexpected(weight.error());
            return set_in_hop("weight", *weight);
        }
        if (word == "preference" || word == "metric" || word == "mtu") return take_route_number(word);
        if (word == "vrf") return take_vrf();
        if (word == "counters") {
            counters_ = true;
            return {};
        }
        if (is_one_of(word, foreign)) {
            return fail("", in_quotes(word) + " is something that pktpit has nothing for", grammar);
        }
        if (prefix_ || is_default_) return fail("", in_quotes(word) + " is not understood", grammar);
        if (word == "default") {
            is_default_ = true;
            return {};
        }
        const auto prefix = parse_prefix(word);
        if (!prefix) return tl::unexpected(prefix.error());
        prefix_ = *prefix;
        return {};
    }

    Result<std::string> next(const std::string& after, const char* expected) {
        if (at_ == words_.size()) return fail("", "nothing behind " + in_quotes(after), expected);
        return words_[at_++];
    }

    Result<uint64_t> take_number(const std::string& word, uint64_t lowest, uint64_t highest) {
        const std::string expected =
            "a number from " + std::to_string(lowest) + " to " + std::to_string(highest);
        const auto text = next(word, expected.c_str());
        if (!text) return tl::unexpected(text.error());
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
        if (error != std::errc() || end != text->data() + text->size() || value < lowest || value > highest) {
            return fail("", word + " " + in_quotes(*text), expected);
        }
        return value;
    }

    Result<void> take_type(const std::string& word) {
        if (type_ && *type_ != word) return fail("", "both " + *type_ + " and " + word, "one type");
        type_ = word;
        return {};
    }

    Result<void> take_nexthop(bool backup) {
        if (backup && !hop_ && hops_.empty())
            return fail("", "a backup before any next hop", "the next hops, then \"backup\" and theirs");
        if (backup) {
            if (auto good = close_hop(); !good) return good;
            backup_ = true;
            hop_ = json::object();
            return {};
        }
        if (backup_) return fail("", "\"nexthop\" behind \"backup\"", "the backups last");
        if (!nexthop_seen_ && hop_) {
            return fail("", "a next hop before the first \"nexthop\"",
                        "each next hop behind a \"nexthop\" of its own");
        }
        if (auto good = close_hop(); !good) return good;
        nexthop_seen_ = true;
        hop_ = json::object();
        return {};
    }

    Result<void> take_via() {
        auto text = next("via", "an IPv4 or IPv6 address");
        std::optional<Family> said;
        if (text && (*text == "inet" || *text == "inet6")) {
            said = *text == "inet" ? Family::ipv4 : Family::ipv6;
            text = next("via " + *text, "an IPv4 or IPv6 address");
        }
        if (!text) return tl::unexpected(text.error());
        const auto address = IpAddress::parse(*text);
        if (!address) return fail("", "via " + in_quotes(*text), "an IPv4 or IPv6 address");
        if (said && *said != address->family)
            return fail("", std::string("via ") + (address->is_v4() ? "inet6 " : "inet ") + in_quotes(*text),
                        address->is_v4() ? "an IPv6 address" : "an IPv4 address");
        if (address->is_v4()) ipv4_gateway_ = address->to_string();
        any_ipv6_gateway_ |= address->is_v6();
        if (hop_ && hop_->contains("via")) {
            if (auto good = close_hop(); !good) return good;
        }
        return set_in_hop("via", address->to_string());
    }

    Result<void> take_dev() {
        const auto name = next("dev", "the name of an interface");
        if (!name) return tl::unexpected(name.error());
        if (name->empty() || name->size() > 15)
            return fail("", "dev " + in_quotes(*name), "a name of 1 to 15 bytes");
        return set_in_hop("interface", *name);
    }

    Result<void> take_vrf() {
        const auto name = next("vrf", "the name of a VRF, or default");
        if (!name) return tl::unexpected(name.error());
        if (vrf_) return fail("", "vrf twice", "once");
        vrf_ = *name;
        return {};
    }

    Result<void> set_in_hop(const char* member, json value) {
        if (!hop_) hop_ = json::object();
        if (hop_->contains(member)) {
            return fail("", std::string(member) + " twice in one next hop", "once",
                        "begin the next one with \"nexthop\"");
        }
        (*hop_)[member] = std::move(value);
        return {};
    }

    Result<void> take_route_number(const std::string& word) {
        struct Number {
            std::optional<uint64_t>& into;
            uint64_t lowest, highest;
        };
        const Number number = word == "preference"
                                  ? Number{preference_, 1, std::numeric_limits<uint8_t>::max()}
                              : word == "metric" ? Number{metric_, 0, std::numeric_limits<uint32_t>::max()}
                                                 : Number{mtu_, least_mtu, config::largest_route_mtu};
        if (number.into) return fail("", word + " twice", "once");
        const auto value = take_number(word, number.lowest, number.highest);
        if (!value) return tl::unexpected(value.error());
        number.into = *value;
        return {};
    }

    Result<void> close_hop() {
        if (!hop_) return {};
        if (!hop_->contains("via") && !hop_->contains("interface")) {
            return fail("", "a next hop that says neither via nor dev", "via ADDRESS, dev INTERFACE or both");
        }
        (backup_ ? backups_ : hops_).push_back(std::move(*hop_));
        hop_.reset();
        return {};
    }

    Result<json> finish() {
        if (is_default_) {
            const Family family = !ipv4_gateway_.empty() ? Family::ipv4
                                  : any_ipv6_gateway_    ? Family::ipv6
                                                         : default_family_;
            prefix_ = Prefix{IpAddress{.family = family}, 0};
        }
        if (!ipv4_gateway_.empty() && prefix_->address.is_v6()) {
            return fail("", "gateway " + ipv4_gateway_ + " is IPv4, but " + prefix_->to_string() + " is IPv6",
                        "an IPv6 gateway", "IPv4 prefixes may have gateways of both families (RFC 8950)");
        }
        json route = {{"prefix", prefix_->to_string()}};
        if (type_ && *type_ != "unicast") {
            if (!hops_.empty()) return fail("", "a next hop for a route of type " + *type_, "none");
            if (mtu_) return fail("", "an MTU of a route of type " + *type_, "none");
            route["type"] = *type_;
        }
        if (!hops_.empty()) route["next_hops"] = hops_;
        if (!backups_.empty()) route["backup"] = backups_;
        if (preference_) route["preference"] = *preference_;
        if (metric_) route["metric"] = *metric_;
        if (mtu_) route["mtu"] = *mtu_;
        if (counters_) route["counters"] = true;
        if (vrf_) route["vrf"] = *vrf_;
        return route;
    }

    const std::vector<std::string>& words_;
    Family default_family_;
    size_t at_ = 0;
    std::optional<Prefix> prefix_;
    bool is_default_ = false;
    std::optional<std::string> type_;
    std::string ipv4_gateway_;  ///< the last one
    bool any_ipv6_gateway_ = false;
    std::optional<json> hop_;  // the one being read
    json hops_ = json::array();
    json backups_ = json::array();
    bool backup_ = false;  ///< next hops are backups from here on
    bool nexthop_seen_ = false;
    std::optional<uint64_t> preference_;
    std::optional<uint64_t> metric_;
    std::optional<uint64_t> mtu_;
    bool counters_ = false;
    std::optional<std::string> vrf_;
};

}  // namespace

Result<json> parse_route_words(const std::vector<std::string>& words, Family default_family) {
    auto route = WordParser(words, default_family).parse();
    if (route && !route->contains("next_hops") && !route->contains("type")) {
        return fail("", "no next hop for " + (*route)["prefix"].get<std::string>(),
                    "via ADDRESS, dev INTERFACE, blackhole, unreachable or prohibit");
    }
    return route;
}

Result<json> parse_route_to_delete(const std::vector<std::string>& words, Family default_family) {
    WordParser parser(words, default_family);
    auto route = parser.parse();
    if (!route) return route;
    if (parser.says_more_than_a_prefix()) {
        // A route is found by its prefix alone: pretending to compare the rest would remove the wrong one.
        return fail("", "more than a prefix", "the prefix alone");
    }
    json deleted{{"prefix", (*route)["prefix"]}};
    if (route->contains("vrf")) deleted["vrf"] = (*route)["vrf"];
    return deleted;
}

}  // namespace pktpit::router::cli
