// SPDX-License-Identifier: BSD-3-Clause
#include "config/prune.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

#include "base/json/pointer.h"

namespace pktpit::config {
namespace {

using nlohmann::json;

constexpr const char* interfaces_key = "interfaces";

std::optional<size_t> index_of(const std::string& token) {
    size_t index = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
    if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
    return index;
}

/// Of a list, the entries that are not in `broken`; where each was.
std::vector<size_t> take_out(json& list, const std::set<size_t>& broken) {
    std::vector<size_t> kept;
    json left = json::array();
    for (size_t i = 0; i < list.size(); i++) {
        if (broken.contains(i)) continue;
        kept.push_back(i);
        left.push_back(std::move(list[i]));
    }
    list = std::move(left);
    return kept;
}

}  // namespace

Pruned::Pruned(json& document, const Errors& errors) {
    if (!document.is_object()) return;
    std::map<std::string, std::set<size_t>> entries;
    for (const Error& error : errors) {
        const std::vector<std::string> place = tokens(error.where);
        if (place.empty()) continue;
        const auto found = document.find(place[0]);
        if (found == document.end()) continue;
        const auto index = place.size() > 1 ? index_of(place[1]) : std::nullopt;
        if (found->is_array() && index) {
            entries[place[0]].insert(*index);
        } else if (place[0] == interfaces_key && place.size() > 2 && found->is_object()) {
            members_[place[1]].insert(place[2]);
        } else {
            settings_.insert(place[0]);
        }
    }
    for (const auto& [name, broken] : members_)
        for (const std::string& member : broken)
            if (json& all = document[interfaces_key]; all.contains(name) && all[name].is_object())
                all[name].erase(member);
    for (const auto& [key, broken] : entries)
        kept_[key] = take_out(document[key], broken);
    for (const std::string& key : settings_)
        document.erase(key);
}

bool Pruned::has_doubtful_addresses(const std::string& interface) const {
    const auto found = members_.find(interface);
    return found != members_.end() && found->second.contains("addresses");
}

std::string Pruned::place_in_whole(std::vector<std::string> place) const {
    if (place.size() > 1)
        if (const auto list = kept_.find(place[0]); list != kept_.end())
            if (const auto index = index_of(place[1]); index && *index < list->second.size())
                place[1] = std::to_string(list->second[*index]);
    std::string pointer;
    for (const std::string& token : place)
        pointer = at(std::move(pointer), token);
    return pointer;
}

bool Pruned::is_doubtful(const std::vector<std::string>& place) const {
    // Without interfaces, VRFs or the dataplane's name nothing is what it seems.
    for (const char* key : {interfaces_key, "vrfs", "dataplane"})
        if (settings_.contains(key)) return true;
    if (place.empty() || settings_.contains(place[0])) return true;
    if (place[0] == interfaces_key && place.size() > 2 && place[2].starts_with("filter_") &&
        settings_.contains("filters"))
        return true;
    // An interface's members say of each other what is right: a VLAN without its parent is a port.
    return place[0] == interfaces_key && place.size() > 1 && members_.contains(place[1]);
}

Errors Pruned::those_of_the_whole(Errors errors) const {
    // An interface that has lost its VRF, parent or device may be another's, and so may its nets.
    const bool apart = std::ranges::any_of(members_, [](const auto& one) {
        return one.second.contains("vrf") || one.second.contains("parent");
    });
    Errors out;
    for (Error& error : errors) {
        auto place = tokens(error.where);
        if (is_doubtful(place) || (apart && place[0] != interfaces_key)) continue;
        error.where = place_in_whole(std::move(place));
        out.push_back(std::move(error));
    }
    return out;
}

}  // namespace pktpit::config
