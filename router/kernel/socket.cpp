// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/socket.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "router/kernel/attributes.h"
#include "router/kernel/device_routes.h"

namespace pktpit::router::netlink {

namespace {

/// The kernel fills dumps up to 32 KiB; a link with many virtual functions may take more.
constexpr size_t buffer_bytes = size_t{256} * 1024;
/// rtnetlink answers within the system call; this only bounds the wait if it ever does not.
constexpr int answer_timeout_ms = 10'000;

tl::unexpected<Error> failure(const char* what, int error) {
    return fail("netlink", std::string(what) + ": " + std::strerror(error));
}

/// The error of an NLMSG_ERROR or NLMSG_DONE message, with the text of its extended ack.
Answer answer_of(Bytes message, const nlmsghdr& header) {
    int32_t error = 0;
    const Bytes payload = message.subspan(sizeof header);
    if (payload.size() < sizeof error) return {};
    std::memcpy(&error, payload.data(), sizeof error);
    Answer answer{-error, {}};
    if (!(header.nlmsg_flags & NLM_F_ACK_TLVS)) return answer;
    size_t skipped = sizeof error;
    if (header.nlmsg_type == NLMSG_ERROR) {
        // The header of the request follows, and the rest of it unless the kernel capped it.
        nlmsghdr request;
        if (payload.size() < sizeof error + sizeof request) return answer;
        std::memcpy(&request, payload.data() + sizeof error, sizeof request);
        skipped += header.nlmsg_flags & NLM_F_CAPPED ? sizeof request : MNL_ALIGN(request.nlmsg_len);
    }
    if (skipped > payload.size()) return answer;
    for_each_attribute(payload.subspan(skipped), [&](const Attribute& attribute) {
        if (attribute.type == NLMSGERR_ATTR_MSG) store(answer.text, attribute.text());
        return true;
    });
    return answer;
}

}  // namespace

Request::Request(uint16_t type, uint16_t flags, size_t bytes) : buffer_(bytes / sizeof(uint64_t)) {
    nlmsghdr* header = mnl_nlmsg_put_header(buffer_.data());
    header->nlmsg_type = type;
    header->nlmsg_flags = flags | NLM_F_REQUEST;
}

std::string Answer::to_string() const {
    std::string out = std::strerror(error);
    if (!text.empty()) out += ": " + text;
    return out;
}

Socket::Socket(mnl_socket* socket) : socket_(socket), buffer_(buffer_bytes) {}

Socket::~Socket() {
    mnl_socket_close(socket_);
}

Result<std::unique_ptr<Socket>> Socket::open() {
    mnl_socket* socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!socket) return failure("cannot open an rtnetlink socket", errno);
    std::unique_ptr<Socket> opened(new Socket(socket));
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
        return failure("cannot bind an rtnetlink socket", errno);
    }
    opened->set_option(NETLINK_EXT_ACK, 1);
    opened->set_option(NETLINK_CAP_ACK, 1);
    return opened;
}

bool Socket::set_option(int option, int value) {
    return mnl_socket_setsockopt(socket_, option, &value, sizeof value) == 0;
}

Result<void> Socket::join(unsigned group) {
    if (!set_option(NETLINK_ADD_MEMBERSHIP, static_cast<int>(group))) {
        return failure("cannot subscribe to rtnetlink events", errno);
    }
    return {};
}

// Notifications come one to a datagram.
Result<void> Socket::take_device_routes_only() {
    constexpr uint32_t type = offsetof(nlmsghdr, nlmsg_type);
    constexpr uint32_t route = sizeof(nlmsghdr);
    constexpr auto protocols = static_cast<uint8_t>(prefix_route_protocols.size());
    std::vector<sock_filter> program{
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, type),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, protocols + 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, route + offsetof(rtmsg, rtm_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTN_LOCAL, protocols + 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTN_UNICAST, 0, protocols + 1),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, route + offsetof(rtmsg, rtm_protocol)),
    };
    for (uint8_t i = 0; i < protocols; i++)
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, prefix_route_protocols.at(i),
                                   static_cast<uint8_t>(protocols - i), 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, 0xffffffffU));
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    if (setsockopt(descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
        return failure("cannot filter rtnetlink events", errno);
    return {};
}

size_t Socket::set_receive_buffer(size_t bytes) {
    const int wanted = static_cast<int>(bytes);
    if (setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0) {
        setsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    }
    return receive_buffer();
}

Result<Received> Socket::receive() {
    sockaddr_nl sender{};
    iovec vector{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_name = &sender;
    message.msg_namelen = sizeof sender;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    received_ = 0;
    const ssize_t length = recvmsg(descriptor(), &message, MSG_DONTWAIT);
    if (length < 0) {
        if (errno == EAGAIN || errno == EINTR) return Received::nothing;
        if (errno == ENOBUFS) return Received::overflow;
        return failure("cannot receive from the kernel", errno);
    }
    if (sender.nl_family != AF_NETLINK || sender.nl_pid != 0) return Received::foreign;
    if (message.msg_flags & MSG_TRUNC) return Received::overflow;
    received_ = static_cast<size_t>(length);
    return Received::messages;
}

Result<void> Socket::send(Request& request) {
    request.message()->nlmsg_seq = ++sequence_;
    if (mnl_socket_sendto(socket_, request.message(), request.message()->nlmsg_len) < 0) {
        return failure("cannot send a request to the kernel", errno);
    }
    return {};
}

Result<void> Socket::wait() {
    pollfd readable{descriptor(), POLLIN, 0};
    int ready;
    do {
        ready = poll(&readable, 1, answer_timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return failure("cannot wait for the kernel's answer", errno);
    if (ready == 0) return fail("netlink", "the kernel did not answer within 10 s");
    return {};
}

Result<Answer> Socket::transact(Request& request, const std::function<void(Bytes)>& each) {
    request.message()->nlmsg_flags |= NLM_F_ACK;
    if (auto sent = send(request); !sent) return tl::unexpected(sent.error());
    std::optional<Answer> answer;
    while (!answer) {
        if (auto ready = wait(); !ready) return tl::unexpected(ready.error());
        const auto received = receive();
        if (!received) return tl::unexpected(received.error());
        if (*received == Received::overflow) return fail("netlink", "the kernel's answer was lost");
        for_each_message(datagram(), [&](Bytes message) {
            nlmsghdr header;
            std::memcpy(&header, message.data(), sizeof header);
            if (header.nlmsg_seq != sequence_) return;
            if (header.nlmsg_type == NLMSG_ERROR) {
                answer = answer_of(message, header);
            } else if (each) {
                each(message);
            }
        });
    }
    return *answer;
}

Result<bool> Socket::dump(Request& request, const std::function<void(Bytes)>& each) {
    if (auto begun = begin_dump(request); !begun) return tl::unexpected(begun.error());
    for (;;) {
        if (auto ready = wait(); !ready) return tl::unexpected(ready.error());
        const auto state = read_dump(each);
        if (!state) return tl::unexpected(state.error());
        if (*state != DumpState::goes_on) return *state == DumpState::ended;
    }
}

Result<void> Socket::begin_dump(Request& request) {
    request.message()->nlmsg_flags |= NLM_F_DUMP;
    undisturbed_ = true;
    return send(request);
}

Result<Socket::DumpState> Socket::read_dump(const std::function<void(Bytes)>& each) {
    if (auto received = receive_dump(); !received) return tl::unexpected(received.error());
    return take_dump(each);
}

Result<void> Socket::receive_dump() {
    const auto received = receive();
    if (!received) return tl::unexpected(received.error());
    if (*received == Received::overflow) return fail("netlink", "a part of a dump was lost");
    return {};
}

Result<Socket::DumpState> Socket::take_dump(const std::function<void(Bytes)>& each) {
    std::optional<Answer> end;
    for_each_message(datagram(), [&](Bytes message) {
        nlmsghdr header;
        std::memcpy(&header, message.data(), sizeof header);
        if (header.nlmsg_seq != sequence_) return;
        if (header.nlmsg_flags & NLM_F_DUMP_INTR) undisturbed_ = false;
        if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR)
            end = answer_of(message, header);
        else
            each(message);
    });
    if (!end) return DumpState::goes_on;
    // A table that does not exist, or a family that the kernel was built without, has nothing to dump.
    if (end->error != 0 && end->error != ENOENT && end->error != EOPNOTSUPP && end->error != EAFNOSUPPORT)
        return fail("netlink", "the kernel refuses a dump: " + end->to_string());
    return undisturbed_ ? DumpState::ended : DumpState::ended_disturbed;
}

size_t Socket::receive_buffer() const {
    int got = 0;
    socklen_t length = sizeof got;
    getsockopt(descriptor(), SOL_SOCKET, SO_RCVBUF, &got, &length);
    return static_cast<size_t>(got);
}

uint32_t Socket::drops() const {
    std::array<uint32_t, SK_MEMINFO_VARS> memory{};
    socklen_t length = sizeof memory;
    if (getsockopt(descriptor(), SOL_SOCKET, SO_MEMINFO, memory.data(), &length) != 0) return 0;
    return memory[SK_MEMINFO_DROPS];
}

void for_each_message(Bytes datagram, const std::function<void(Bytes)>& visit) {
    while (datagram.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header;
        std::memcpy(&header, datagram.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) return;
        visit(datagram.first(header.nlmsg_len));
        datagram = datagram.subspan(std::min<size_t>(MNL_ALIGN(header.nlmsg_len), datagram.size()));
    }
}

}  // namespace pktpit::router::netlink
