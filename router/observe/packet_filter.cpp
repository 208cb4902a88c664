// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/packet_filter.h"

#include <pcap/pcap.h>

#include <vector>

namespace pktpit::router {

struct PacketFilter::Program {
    bpf_program code{};
    Program() = default;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { pcap_freecode(&code); }
};

namespace {

constexpr int snaplen = 65535;
constexpr size_t longest = 4096;

using Handle = std::unique_ptr<pcap_t, decltype(&pcap_close)>;

/// libpcap's words; empty: it is a filter.
std::string refusal_of(const std::string& expression, bpf_program& code) {
    const Handle handle(pcap_open_dead(DLT_EN10MB, snaplen), pcap_close);
    if (!handle) return "no memory";
    if (pcap_compile(handle.get(), &code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0) return {};
    return pcap_geterr(handle.get());
}

/// libpcap does not tell where it stopped: behind the longest beginning that is a filter of its own.
std::string hint_about(const std::string& expression) {
    for (size_t end = expression.find_last_of(' '); end != std::string::npos && end != 0;
         end = expression.find_last_of(' ', end - 1)) {
        const std::string beginning = expression.substr(0, end);
        if (beginning.find_first_not_of(" \t") == std::string::npos) break;
        bpf_program code{};
        if (!refusal_of(beginning, code).empty()) continue;
        pcap_freecode(&code);
        return "\"" + beginning + "\" is a filter; look behind it, at character " + std::to_string(end + 2);
    }
    return "man pcap-filter";
}

}  // namespace

Result<PacketFilter> PacketFilter::compile(const std::string& expression) {
    if (expression.size() > longest)
        return fail("filter", "an expression of " + std::to_string(expression.size()) + " characters",
                    "at most " + std::to_string(longest));
    if (expression.find('\0') != std::string::npos)
        return fail("filter", "a character of value 0", "a pcap filter, as \"ip and udp port 53\"");
    auto program = std::make_shared<Program>();
    if (const std::string refusal = refusal_of(expression, program->code); !refusal.empty())
        return fail("filter", "\"" + expression + "\": " + refusal,
                    "a pcap filter, as \"ip and udp port 53\"", hint_about(expression));
    PacketFilter filter;
    filter.program_ = std::move(program);
    return filter;
}

bool PacketFilter::matches(std::span<const uint8_t> frame, uint32_t length) const {
    pcap_pkthdr header{};
    header.caplen = static_cast<bpf_u_int32>(frame.size());
    header.len = length;
    return pcap_offline_filter(&program_->code, &header, frame.data()) != 0;
}

}  // namespace pktpit::router
