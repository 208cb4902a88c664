// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/nftables.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr uint16_t new_chain = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN;
constexpr uint16_t get_chain = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN;

using Attributes = std::array<const nlattr*, NFTA_CHAIN_MAX + 1>;

int note(const nlattr* attribute, void* to) {
    auto& all = *static_cast<Attributes*>(to);
    if (mnl_attr_type_valid(attribute, NFTA_CHAIN_MAX) > 0) all[mnl_attr_get_type(attribute)] = attribute;
    return MNL_CB_OK;
}

std::optional<uint32_t> number(const nlattr* attribute) {
    if (!attribute || mnl_attr_validate(attribute, MNL_TYPE_U32) < 0) return std::nullopt;
    return ntohl(mnl_attr_get_u32(attribute));
}

std::string text(const nlattr* attribute) {
    if (!attribute || mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) < 0) return {};
    return mnl_attr_get_str(attribute);
}

const char* family_name(uint8_t family) {
    switch (family) {
        case NFPROTO_INET:
            return "inet";
        case NFPROTO_IPV4:
            return "ip";
        case NFPROTO_IPV6:
            return "ip6";
        default:
            return nullptr;
    }
}

int note_hook(const nlattr* attribute, void* to) {
    if (mnl_attr_get_type(attribute) == NFTA_HOOK_HOOKNUM)
        *static_cast<std::optional<uint32_t>*>(to) = number(attribute);
    return MNL_CB_OK;
}

std::optional<uint32_t> hook_of(const nlattr* nested) {
    std::optional<uint32_t> hook;
    if (!nested || mnl_attr_validate(nested, MNL_TYPE_NESTED) < 0) return hook;
    if (mnl_attr_parse_nested(nested, note_hook, &hook) < 0) return std::nullopt;
    return hook;
}

struct CloseSocket {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
};

auto failed(const char* what) {
    return fail("nftables", std::string(what) + ": " + errno_text(errno), "CAP_NET_ADMIN");
}

}  // namespace

std::optional<ForwardChain> parse_forward_chain(const nlmsghdr* message) {
    if (message->nlmsg_type != new_chain || message->nlmsg_len < mnl_nlmsg_size(sizeof(nfgenmsg)))
        return std::nullopt;
    const auto* head = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(message));
    const char* family = family_name(head->nfgen_family);
    Attributes attributes{};
    if (!family || mnl_attr_parse(message, sizeof(nfgenmsg), note, &attributes) < 0) return std::nullopt;
    if (hook_of(attributes[NFTA_CHAIN_HOOK]) != NF_INET_FORWARD) return std::nullopt;
    ForwardChain chain;
    chain.name = std::string(family) + " " + text(attributes[NFTA_CHAIN_TABLE]) + " " +
                 text(attributes[NFTA_CHAIN_NAME]);
    chain.rules = number(attributes[NFTA_CHAIN_USE]).value_or(0);
    chain.drops = number(attributes[NFTA_CHAIN_POLICY]).value_or(NF_ACCEPT) == NF_DROP;
    if (chain.rules == 0 && !chain.drops) return std::nullopt;
    return chain;
}

Result<std::vector<ForwardChain>> nftables_forward_chains() {
    const std::unique_ptr<mnl_socket, CloseSocket> socket(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC));
    if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0)
        return failed("cannot ask the kernel");
    // As long as the kernel makes its answers, and aligned as libmnl wants it.
    std::vector<uint64_t> buffer(65536 / sizeof(uint64_t));
    const size_t bytes = buffer.size() * sizeof(uint64_t);
    nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
    request->nlmsg_type = get_chain;
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request->nlmsg_seq = 1;
    auto* head = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(nfgenmsg)));
    head->nfgen_family = NFPROTO_UNSPEC;
    head->version = NFNETLINK_V0;
    if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0)
        return failed("cannot ask the kernel");

    std::vector<ForwardChain> chains;
    const auto take = [](const nlmsghdr* message, void* to) {
        if (auto chain = parse_forward_chain(message))
            static_cast<std::vector<ForwardChain>*>(to)->push_back(std::move(*chain));
        return MNL_CB_OK;
    };
    for (int more = MNL_CB_OK; more > MNL_CB_STOP;) {
        const ssize_t got = mnl_socket_recvfrom(socket.get(), buffer.data(), bytes);
        if (got < 0) return failed("the kernel does not answer");
        more = mnl_cb_run(buffer.data(), static_cast<size_t>(got), 1, mnl_socket_get_portid(socket.get()),
                          take, &chains);
        // EINVAL: a kernel without nftables; EINTR: rules change meanwhile, and what was read will do.
        if (more < MNL_CB_STOP && errno != EINVAL && errno != EINTR && errno != EOPNOTSUPP)
            return failed("the kernel does not answer");
    }
    return chains;
}

}  // namespace pktpit::router
