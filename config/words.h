// SPDX-License-Identifier: BSD-3-Clause
/// The configuration's values in the words of its JSON, and next hops as a person would say them. Internal to
/// config/. Any thread.
#pragma once

#include <array>
#include <string>

#include "config/config.h"

namespace pktpit::config {

std::string to_string(XdpMode mode);            ///< "auto", …
std::string to_string(GenericVlan vlan);        ///< "refuse" or "accept"
std::string to_string(Forwarding forwarding);   ///< "inline", "split" or "auto"
std::string to_string(PayloadPlace place);      ///< "auto", …
std::string to_string(Polling polling);         ///< "busy", …
std::string to_string(OnDaemonLoss loss);       ///< "forward" or "kernel"
std::string to_string(DpdkMemory memory);       ///< "auto", …
std::string to_string(ElementType type);        ///< "int32", "bfp16"
std::string to_string(MemoryKind kind);         ///< "hugepages", …
std::string to_string(ModelTransfer transfer);  ///< "write", "read" or "bounce"
std::string to_string(RouteType type);          ///< "unicast", …
std::string to_string(Rpf rpf);                 ///< "off", "loose" or "strict"
std::string vlan_protocol_name(uint16_t tpid);  ///< "802.1Q" or "802.1ad"
std::string vrf_name(const std::string& vrf);   ///< as in a file: "default" for the default one
std::string to_string(const NextHop& hop);      ///< "via 192.0.2.1 on eth0 weight 3"
std::string to_string(const std::vector<NextHop>& hops);

/// The value of an enum whose word this is; the schema lets no other words in.
template <class Enum, size_t N>
Enum by_word(const std::string& word, const std::array<Enum, N>& values) {
    for (const Enum value : values)
        if (to_string(value) == word) return value;
    return values[0];
}

}  // namespace pktpit::config
