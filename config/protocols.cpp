// SPDX-License-Identifier: BSD-3-Clause
#include "config/protocols.h"

#include <linux/rtnetlink.h>

#include <array>
#include <charconv>

namespace pktpit::config {
namespace {

struct Protocol {
    std::string_view name;
    uint8_t number;
};

constexpr std::array protocols = {
    Protocol{"unspec", RTPROT_UNSPEC},
    Protocol{"redirect", RTPROT_REDIRECT},
    Protocol{"kernel", RTPROT_KERNEL},
    Protocol{"boot", RTPROT_BOOT},
    Protocol{"static", RTPROT_STATIC},
    Protocol{"gated", RTPROT_GATED},
    Protocol{"ra", RTPROT_RA},
    Protocol{"mrt", RTPROT_MRT},
    Protocol{"zebra", RTPROT_ZEBRA},
    Protocol{"bird", RTPROT_BIRD},
    Protocol{"dnrouted", RTPROT_DNROUTED},
    Protocol{"xorp", RTPROT_XORP},
    Protocol{"ntk", RTPROT_NTK},
    Protocol{"dhcp", RTPROT_DHCP},
    Protocol{"keepalived", RTPROT_KEEPALIVED},
    Protocol{"babel", RTPROT_BABEL},
    Protocol{"openr", RTPROT_OPENR},
    Protocol{"bgp", RTPROT_BGP},
    Protocol{"isis", RTPROT_ISIS},
    Protocol{"ospf", RTPROT_OSPF},
    Protocol{"rip", RTPROT_RIP},
    Protocol{"eigrp", RTPROT_EIGRP},
    // FRR's own, as in its rt_protos.d/frr.conf, which calls the last one "static": the kernel has another of
    // that name.
    Protocol{"ripng", 190},
    Protocol{"nhrp", 191},
    Protocol{"ldp", 193},
    Protocol{"sharp", 194},
    Protocol{"pbr", 195},
    Protocol{"openfabric", 197},
    Protocol{"frr-static", 196},
};

}  // namespace

std::optional<uint8_t> protocol_number(std::string_view name) {
    for (const Protocol& one : protocols)
        if (one.name == name) return one.number;
    uint8_t number = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
}

std::string protocol_name(uint8_t number) {
    for (const Protocol& one : protocols)
        if (one.number == number) return std::string(one.name);
    return std::to_string(number);
}

std::vector<std::string> protocol_names() {
    std::vector<std::string> names;
    names.reserve(protocols.size());
    for (const Protocol& one : protocols)
        names.emplace_back(one.name);
    return names;
}

}  // namespace pktpit::config
