// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/datagram_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pktpit::allreduce {
namespace {

// Results of all slots at once, with what the kernel counts for each.
constexpr int buffer_bytes = 8 << 20;
// What the kernel counts for one at most, whatever its length: a page for a frame that XDP has redirected,
// and struct sk_buff.
constexpr size_t counted_bytes = 4096 + 512;
/// That the kernel takes at a time. A veth's ring has 256 places.
constexpr size_t most_segments = 40;

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
    // By privilege, or as much of it as the machine allows (net.core.rmem_max, wmem_max).
    for (const int name : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_SNDBUFFORCE})
        setsockopt(socket_, SOL_SOCKET, name, &buffer_bytes, sizeof buffer_bytes);
    int given = 0;
    socklen_t length = sizeof given;
    if (getsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &given, &length) == 0 && given > 0)
        room_for_results_ = std::max<size_t>(1, static_cast<size_t>(given) / counted_bytes);
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
    std::vector<uint8_t> copy;
    if (chance(faults_.duplicate))
        copy.assign(room().begin(), room().begin() + static_cast<ptrdiff_t>(length));
    append(length);
    if (copy.empty()) return;
    std::ranges::copy(copy, room().begin());
    append(length);
}

// The datagram is behind those that wait. They are sent first if it is longer than they are.
void DatagramSocket::append(size_t length) {
    if (filled_ > 0 && length > segment_) {
        const size_t at = filled_;
        flush();
        std::memmove(out_.data(), out_.data() + at, length);
    }
    if (filled_ == 0) segment_ = length;
    filled_ += length;
    const bool full = filled_ >= most_segments * segment_ || filled_ + largest > out_.size();
    if (length < segment_ || full) flush();
}

// What the socket has no room for is waited for, not lost: it is the worker's own pace.
void DatagramSocket::flush() {
    const auto datagrams = std::span<const uint8_t>(out_).first(filled_);
    filled_ = 0;
    if (datagrams.size() <= segment_ || !segments_) return send_apart(datagrams);
    iovec vector{const_cast<uint8_t*>(datagrams.data()), datagrams.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(uint16_t))> control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* one = CMSG_FIRSTHDR(&message);
    one->cmsg_level = SOL_UDP;
    one->cmsg_type = UDP_SEGMENT;
    one->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    const auto segment = static_cast<uint16_t>(segment_);
    std::memcpy(CMSG_DATA(one), &segment, sizeof segment);
    if (sendmsg(socket_, &message, 0) >= 0) return;
    // A device without checksum offload, an MTU below 1,500, or an old kernel. All else, as an ICMP error of
    // an earlier datagram, is a loss.
    if (errno != EIO && errno != EINVAL && errno != EMSGSIZE && errno != ENOPROTOOPT) return;
    segments_ = false;
    send_apart(datagrams);
}

void DatagramSocket::send_apart(std::span<const uint8_t> datagrams) const {
    for (auto rest = datagrams; !rest.empty();) {
        const auto one = rest.first(std::min(segment_, rest.size()));
        send_now(one);
        rest = rest.subspan(one.size());
    }
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
