// SPDX-License-Identifier: BSD-3-Clause
// Rates and checks of sources in the configuration's JSON, and that JSON again.
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/meaning.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

std::optional<Rate> read_rate(const std::string& text, const std::string& where, Errors& errors) {
    const auto bits = parse_rate(text);
    if (bits) return Rate{*bits, default_burst(*bits)};
    errors.push_back({where, in_quotes(text) + " is no rate that can be kept to",
                      R"(a rate such as "100 Mbit/s", from 1 kbit/s to 1000 Gbit/s)", ""});
    return std::nullopt;
}

}  // namespace

void read_guards(const json& node, const std::string& where, Interface& out, Errors& errors) {
    if (auto found = node.find("rpf"); found != node.end())
        out.rpf = by_word(found->get<std::string>(), std::array{Rpf::off, Rpf::loose, Rpf::strict});
    if (auto found = node.find("police_in"); found != node.end())
        out.police_in = read_rate(found->get<std::string>(), at(where, "police_in"), errors);
    const auto burst = node.find("police_burst");
    if (burst == node.end()) return;
    if (!node.contains("police_in"))
        errors.push_back({at(where, "police_burst"), "there is no rate that it belongs to",
                          "\"police_in\" beside it", "name a rate, or take this away"});
    else if (out.police_in)
        out.police_in->burst_bytes = burst->get<uint64_t>();
}

void read_host_police(const json& node, HostPolice& out) {
    const auto take = [&](const char* key, std::optional<uint32_t>& rate) {
        if (auto found = node.find(key); found != node.end()) rate = found->get<uint32_t>();
    };
    take("arp", out.arp);
    take("icmp", out.icmp);
    take("bgp", out.bgp);
    take("other", out.other);
}

json host_police_json(const HostPolice& host) {
    json out = json::object();
    const auto put = [&](const char* key, const std::optional<uint32_t>& rate) {
        if (rate) out[key] = *rate;
    };
    put("arp", host.arp);
    put("icmp", host.icmp);
    put("bgp", host.bgp);
    put("other", host.other);
    return out;
}

// A device that forwards in the daemon's place knows nothing of these.
void check_guards(const Draft& draft, Errors& errors) {
    if (draft.settings.dataplane != "vfio" || !draft.settings.vfio.peer) return;
    const auto refuse = [&](const std::string& where) {
        errors.push_back({where, "a peer device forwards, and does not know this",
                          "none of it beside /vfio/peer", "take one of the two away"});
    };
    for (const PlacedInterface& one : draft.interfaces) {
        if (one.value.rpf != Rpf::off) refuse(at(one.where, "rpf"));
        if (one.value.police_in) refuse(at(one.where, "police_in"));
        if (!one.value.filter_in.empty()) refuse(at(one.where, "filter_in"));
        if (!one.value.filter_out.empty()) refuse(at(one.where, "filter_out"));
    }
    if (draft.settings.host_police.any()) refuse("/host_police");
}

}  // namespace pktpit::config
