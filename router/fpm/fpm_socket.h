// SPDX-License-Identifier: BSD-3-Clause
/// TCP for FPM: who may connect, and what comes, in pieces that hold nobody up. One thread; nothing blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"
#include "router/fpm/fpm_framer.h"

namespace pktpit::router {

/// A socket that listens (listen_tcp()). Error: the port is in use.
Result<Fd> fpm_listen(const IpAddress& address, uint16_t port);

struct FpmPeer {
    Fd connection;
    IpAddress address;
    uint16_t port = 0;
    [[nodiscard]] std::string to_string() const;
};
/// The next connection that waits; nothing: there is none.
std::optional<FpmPeer> fpm_accept(const Fd& listener);

/// Without `from`: this machine's loopback addresses.
bool fpm_may_connect(const IpAddress& peer, const std::vector<Prefix>& from);

class FpmStream {
  public:
    explicit FpmStream(Fd connection) : connection_(std::move(connection)) {}
    enum class State : uint8_t { open, closed };
    using Frame = std::function<Result<void>(std::span<const std::byte>)>;

    /// Hands on the frames that have come, until `go_on` says no, which it is asked every few frames. What is
    /// not read stays where it is, in the end with the sender. An Error: the stream is of no use any more.
    Result<State> read(const Frame& frame, const std::function<bool()>& go_on);
    [[nodiscard]] int descriptor() const { return connection_.get(); }
    [[nodiscard]] uint64_t frames() const { return framer_.frames(); }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    /// More frames are here than read() has handed on: the descriptor does not say so.
    [[nodiscard]] bool holds_frames() const { return holds_frames_; }

  private:
    Fd connection_;
    FpmFramer framer_;
    uint64_t bytes_ = 0;
    bool holds_frames_ = false;
};

}  // namespace pktpit::router
