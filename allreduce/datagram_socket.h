// SPDX-License-Identifier: BSD-3-Clause
/// A UDP socket to the router, several datagrams a system call, and on their way out several at a time
/// through the kernel's stack (UDP_SEGMENT, Linux 4.18); and, for tests, a network that loses, doubles and
/// holds back, since not every kernel has one to offer. Used by Worker; sending and receiving by one thread,
/// send_now() by any.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace pktpit::allreduce {

struct NetworkFaults {
    double lose = 0, duplicate = 0, delay = 0;
    uint32_t seed = 1;
};

class DatagramSocket {
  public:
    static constexpr size_t batch = 32;
    static constexpr size_t largest = 2048;
    using Handler = std::function<void(std::span<const uint8_t>)>;

    DatagramSocket() = default;
    ~DatagramSocket();
    DatagramSocket(const DatagramSocket&) = delete;
    DatagramSocket& operator=(const DatagramSocket&) = delete;

    /// Why not; empty: it is open. `bind`: empty, or an address.
    std::string open(const std::string& router, uint16_t port, const std::string& bind,
                     const NetworkFaults& faults);

    /// How many datagrams the kernel keeps until receive() takes them. More get lost.
    [[nodiscard]] size_t room_for_results() const { return room_for_results_; }
    /// Room for a datagram of the next batch; what is written there is sent with push() of its length, at the
    /// latest by flush().
    [[nodiscard]] std::span<uint8_t> room() { return std::span(out_).subspan(filled_, largest); }
    void push(size_t length);
    void flush();
    /// At once, by itself, and without the faults.
    void send_now(std::span<const uint8_t> datagram) const;
    /// What has come. Waits for it until then.
    void receive(std::chrono::microseconds longest, const Handler& handler);

  private:
    using Buffer = std::array<uint8_t, largest>;
    bool chance(double share) { return share > 0 && std::uniform_real_distribution<>(0, 1)(random_) < share; }
    void append(size_t length);
    void send_apart(std::span<const uint8_t> datagrams) const;
    void deliver(std::span<const uint8_t> datagram, const Handler& handler);

    int socket_ = -1;
    size_t room_for_results_ = 1;
    NetworkFaults faults_;
    std::mt19937 random_;
    /// Datagrams one behind the other, of `segment_` bytes each, but for the last, which may be shorter.
    std::array<uint8_t, 65507> out_{};
    size_t filled_ = 0;
    size_t segment_ = 0;
    bool segments_ = true;  ///< the kernel takes several at a time
    std::array<Buffer, batch> in_{};
    std::vector<std::vector<uint8_t>> held_;  ///< that came, and others overtake
};

}  // namespace pktpit::allreduce
