// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <array>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

void read_model(const json& node, Model& out) {
    const auto take = [&](const char* key, auto& value) {
        if (auto found = node.find(key); found != node.end()) found->get_to(value);
    };
    take("topology", out.topology);
    take("profile", out.profile);
    if (auto found = node.find("transfer"); found != node.end())
        out.transfer = by_word(found->get<std::string>(),
                               std::array{ModelTransfer::write, ModelTransfer::read, ModelTransfer::bounce});
}

Wire read_wire(const json& node, const std::string& where, Errors& errors) {
    Wire out;
    const auto take = [&](const char* key, auto& value) {
        if (auto found = node.find(key); found != node.end()) found->get_to(value);
    };
    take("device", out.device);
    take("read", out.read);
    take("write", out.write);
    take("own_frames", out.own_frames);
    if (auto found = node.find("mac"); found != node.end())
        out.mac = read_mac(found->get<std::string>(), at(where, "mac"), errors);
    return out;
}

}  // namespace pktpit::config
