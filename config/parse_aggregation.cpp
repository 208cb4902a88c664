// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <charconv>
#include <map>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/meaning.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

void read_workers_of(const json& node, const std::string& where, AggregationGroup& out, Errors& errors) {
    std::map<IpAddress, size_t> first;
    for (size_t i = 0; i < node.size(); i++) {
        const std::string place = at(where, i);
        const auto address = read_address(node[i].get<std::string>(), place, errors);
        if (!address) continue;
        if (!address->is_v4()) {
            errors.push_back({place, in_quotes(address->to_string()) + " is an IPv6 address",
                              "an IPv4 address: elements are added from IPv4 packets", ""});
            continue;
        }
        if (const std::string why = no_host_address(*address); !why.empty()) {
            errors.push_back(
                {place, in_quotes(address->to_string()) + " is " + why, "the address of a host", ""});
            continue;
        }
        if (const auto [other, is_new] = first.try_emplace(*address, i); !is_new)
            errors.push_back({place,
                              in_quotes(address->to_string()) + " is that of worker " +
                                  std::to_string(other->second) + " already",
                              "an address of its own for each worker", ""});
        out.workers.push_back(*address);
    }
}

}  // namespace

void read_aggregation(const json& node, AggregationGroups& out, Errors& errors) {
    const auto groups = node.find("groups");
    if (groups == node.end()) return;
    for (const auto& [name, one] : groups->items()) {
        const std::string where = at("/aggregation/groups", name);
        AggregationGroup& group = out[name];
        read_workers_of(one.at("workers"), at(where, "workers"), group, errors);
        const auto take = [&one = one](const char* key, auto& value) {
            if (auto found = one.find(key); found != one.end()) found->get_to(value);
        };
        take("port", group.port);
        take("slots", group.slots);
        take("chunk_bytes", group.chunk_bytes);
        take("timeout_ms", group.timeout_ms);
        if (auto type = one.find("type"); type != one.end())
            group.type = *type == "bfp16" ? ElementType::bfp16 : ElementType::int32;
        const auto& key = one.at("key").get_ref<const std::string&>();  // hexadecimal, says the schema
        std::from_chars(key.data(), key.data() + key.size(), group.key, 16);
    }
}

}  // namespace pktpit::config
