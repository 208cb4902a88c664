// SPDX-License-Identifier: BSD-3-Clause
/// A UDP socket to the router, several datagrams a system call; and, for tests, a network that loses, doubles
/// and holds back, since not every kernel has one to offer. Used by Worker; sending and receiving by one
/// thread, send_now() by any.
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

    /// Room for a datagram of the next batch; what is written there is sent with push() of its length, at the
    /// latest by flush().
    [[nodiscard]] std::span<uint8_t> room() { return out_[filled_]; }
    void push(size_t length);
    void flush();
    /// At once, by itself, and without the faults.
    void send_now(std::span<const uint8_t> datagram) const;
    /// What has come. Waits for it until then.
    void receive(std::chrono::microseconds longest, const Handler& handler);

  private:
    using Buffer = std::array<uint8_t, largest>;
    bool chance(double share) { return share > 0 && std::uniform_real_distribution<>(0, 1)(random_) < share; }
    void deliver(std::span<const uint8_t> datagram, const Handler& handler);

    int socket_ = -1;
    NetworkFaults faults_;
    std::mt19937 random_;
    std::array<Buffer, batch> out_{};
    std::array<size_t, batch> lengths_{};
    size_t filled_ = 0;
    std::array<Buffer, batch> in_{};
    std::vector<std::vector<uint8_t>> held_;  ///< that came, and others overtake
};

}  // namespace pktpit::allreduce
