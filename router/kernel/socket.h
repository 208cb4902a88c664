// SPDX-License-Identifier: BSD-3-Clause
/// One rtnetlink socket: requests with acknowledgement, dumps, and raw reception. Private to NetlinkKernel;
/// one thread. Messages that do not come from the kernel are dropped unread.
#pragma once

#include <libmnl/libmnl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router::netlink {

/// A request under construction: a header and room for what our requests hold.
class Request {
  public:
    Request(uint16_t type, uint16_t flags, size_t bytes = 512);
    template <class Header>
    Header& header() {
        return *static_cast<Header*>(mnl_nlmsg_put_extra_header(message(), sizeof(Header)));
    }
    nlmsghdr* message() { return reinterpret_cast<nlmsghdr*>(buffer_.data()); }
    void put(uint16_t type, std::span<const uint8_t> value) {
        mnl_attr_put(message(), type, value.size(), value.data());
    }

  private:
    std::vector<uint64_t> buffer_;  // zeroed, and aligned as netlink wants it
};

/// The kernel's answer to a request: 0, or an errno with what the kernel says about it (extended ack).
struct Answer {
    int error = 0;
    std::string text;
    [[nodiscard]] std::string to_string() const;  ///< "File exists: address already assigned"
};

enum class Received : uint8_t {
    nothing,   ///< would block
    messages,  ///< see datagram()
    foreign,   ///< not from the kernel; ignored
    overflow,  ///< ENOBUFS, or a message larger than the buffer: something was lost
};

class Socket {
  public:
    static Result<std::unique_ptr<Socket>> open();
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    [[nodiscard]] int descriptor() const { return mnl_socket_get_fd(socket_); }
    /// What the kernel calls the sender of this socket's requests in the events that they cause.
    [[nodiscard]] uint32_t port_id() const { return mnl_socket_get_portid(socket_); }
    Result<void> join(unsigned group);
    /// SO_RCVBUFFORCE, or SO_RCVBUF (bounded by net.core.rmem_max) without CAP_NET_ADMIN. What it got, in
    /// bytes.
    size_t set_receive_buffer(size_t bytes);
    bool set_option(int option, int value);
    /// Of routes the kernel puts only what is_of_device() could say yes to into the queue: others may come by
    /// the million.
    Result<void> take_device_routes_only();

    /// One datagram without blocking. An Error for what is neither emptiness nor overflow.
    Result<Received> receive();
    /// The bytes that receive() got; valid until the next one.
    [[nodiscard]] std::span<const std::byte> datagram() const { return {buffer_.data(), received_}; }

    /// Sends, and waits for the acknowledgement; hands on what the kernel answers before it. An Error if the
    /// kernel could not be asked.
    Result<Answer> transact(Request& request,
                            const std::function<void(std::span<const std::byte>)>& each = {});
    /// Sends a dump request and hands each message on.
    /// The value: did the dump survive undisturbed (no NLM_F_DUMP_INTR)?
    Result<bool> dump(Request& request, const std::function<void(std::span<const std::byte>)>& each);

    /// The same in pieces: begin_dump(), then read_dump(), a datagram at a time and without blocking, until
    /// it has ended. One dump at a time; nothing else may be asked by this socket meanwhile.
    enum class DumpState : uint8_t { goes_on, ended, ended_disturbed };
    Result<void> begin_dump(Request& request);
    Result<DumpState> read_dump(const std::function<void(std::span<const std::byte>)>& each);
    /// The two halves of it: what the one has received stays for the other until something else is. Received
    /// or not, the kernel makes the datagram that follows when the one before it is received.
    Result<void> receive_dump();
    Result<DumpState> take_dump(const std::function<void(std::span<const std::byte>)>& each);
    /// Bytes of kernel memory that its queue may take (as the kernel counts them).
    [[nodiscard]] size_t receive_buffer() const;
    /// Messages that the kernel has dropped since they did not fit into the queue.
    [[nodiscard]] uint32_t drops() const;

  private:
    explicit Socket(mnl_socket* socket);
    Result<void> send(Request& request);
    Result<void> wait();

    mnl_socket* socket_;
    uint32_t sequence_ = 0;
    bool undisturbed_ = true;  ///< the dump, so far
    size_t received_ = 0;
    std::vector<std::byte> buffer_;
};

/// Calls visit(bytes of one message, padded length excluded) for each whole message in a datagram.
void for_each_message(std::span<const std::byte> datagram,
                      const std::function<void(std::span<const std::byte>)>& visit);

}  // namespace pktpit::router::netlink
