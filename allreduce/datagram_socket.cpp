// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/datagram_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pktpit::allreduce {
namespace {

// Results of all slots at once, with what the kernel counts for each.
constexpr int buffer_bytes = 8 << 20;

std::string text_of(int error) {
    return std::strerror(error);
}

}  // namespace

DatagramSocket::~DatagramSocket() {
    if (socket_ >= 0) ::close(socket_);
}

std::string DatagramSocket::open(const std::string& router, uint16_t port, const std::string& bind,
                                 const NetworkFaults& faults) {
    sockaddr_in to{}, own{};
    to.sin_family = own.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (inet_pton(AF_INET, router.c_str(), &to.sin_addr) != 1) return "'" + router + "' is no IPv4 address";
    if (!bind.empty() && inet_pton(AF_INET, bind.c_str(), &own.sin_addr) != 1)
        return "'" + bind + "' is no IPv4 address";
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return "cannot open a socket: " + text_of(errno);
    for (const int name : {SO_RCVBUF, SO_SNDBUF})  // as much of it as the machine allows
        setsockopt(socket_, SOL_SOCKET, name, &buffer_bytes, sizeof buffer_bytes);
    if (!bind.empty() && ::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
        return "cannot send from " + bind + ": " + text_of(errno);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        return "no way to " + router + ": " + text_of(errno);
    faults_ = faults;
    random_.seed(faults.seed);
    return {};
}

void DatagramSocket::push(size_t length) {
    if (chance(faults_.lose)) return;
    lengths_[filled_++] = length;
    if (filled_ == batch) flush();
    if (!chance(faults_.duplicate)) return;
    const size_t from = filled_ == 0 ? batch - 1 : filled_ - 1;
    if (filled_ != from) out_[filled_] = out_[from];
    lengths_[filled_++] = length;
    if (filled_ == batch) flush();
}

// What the socket has no room for is waited for, not lost: it is the worker's own pace.
void DatagramSocket::flush() {
    std::array<mmsghdr, batch> messages{};
    std::array<iovec, batch> vectors{};
    for (size_t i = 0; i < filled_; i++) {
        vectors[i] = {out_[i].data(), lengths_[i]};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (size_t sent = 0; sent < filled_;) {
        const int now = sendmmsg(socket_, messages.data() + sent, static_cast<unsigned>(filled_ - sent), 0);
        // An ICMP error of an earlier datagram, as of a router that does not listen yet: that one is lost.
        sent += now > 0 ? static_cast<size_t>(now) : 1;
    }
    filled_ = 0;
}

void DatagramSocket::send_now(std::span<const uint8_t> datagram) const {
    (void)::send(socket_, datagram.data(), datagram.size(), 0);
}

void DatagramSocket::deliver(std::span<const uint8_t> datagram, const Handler& handler) {
    if (chance(faults_.lose)) return;
    if (chance(faults_.delay)) {
        held_.emplace_back(datagram.begin(), datagram.end());
        return;
    }
    handler(datagram);
    if (chance(faults_.duplicate)) handler(datagram);
}

void DatagramSocket::receive(std::chrono::microseconds longest, const Handler& handler) {
    std::vector<std::vector<uint8_t>> late;
    late.swap(held_);
    std::array<mmsghdr, batch> messages{};
    std::array<iovec, batch> vectors{};
    for (size_t i = 0; i < batch; i++) {
        vectors[i] = {in_[i].data(), in_[i].size()};
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    int count = recvmmsg(socket_, messages.data(), batch, MSG_DONTWAIT, nullptr);
    if (count <= 0 && longest.count() > 0) {
        pollfd ready{socket_, POLLIN, 0};
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
        const timespec until{seconds.count(), std::chrono::nanoseconds(longest - seconds).count()};
        if (ppoll(&ready, 1, &until, nullptr) > 0)
            count = recvmmsg(socket_, messages.data(), batch, MSG_DONTWAIT, nullptr);
    }
    for (int i = 0; i < count; i++)
        deliver(std::span(in_[static_cast<size_t>(i)]).first(messages[static_cast<size_t>(i)].msg_len),
                handler);
    for (const auto& datagram : late)
        handler(datagram);
}

}  // namespace pktpit::allreduce
