// SPDX-License-Identifier: BSD-3-Clause
/// The UDP socket that a group's workers speak to the daemon by: joins, signs of life, and what it answers.
/// Elements do not come here, the port stage takes them. Used by the aggregation service; one thread; never
/// waits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

/// IPv4 addresses and ports in network byte order.
struct WorkerPeer {
    uint32_t address = 0;
    uint16_t port = 0;
    uint32_t router = 0;  ///< the address that it sends to, and expects answers from
};

class GroupSocket {
  public:
    /// Bound to the port at every address of this machine. Errors: the port is somebody else's, no privilege.
    static Result<GroupSocket> open(uint16_t port);

    [[nodiscard]] int descriptor() const { return socket_.get(); }
    /// Hands on up to `most` datagrams that wait. They are gone after the call.
    void receive(unsigned most,
                 const std::function<void(const WorkerPeer&, std::span<const uint8_t>)>& handler);
    /// What cannot be sent now is lost: workers ask again.
    void send(const WorkerPeer& to, std::span<const uint8_t> datagram);

  private:
    explicit GroupSocket(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

}  // namespace pktpit::router
