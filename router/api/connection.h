// SPDX-License-Identifier: BSD-3-Clause
/// One API connection as cpp-httplib's Stream, bounded in every direction: bytes read, time to read a
/// request, time without progress while writing, unless the answer has no hurry. Used by one worker thread;
/// `stopping` may be set by another.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>

namespace pktpit::router {

struct ConnectionLimits {
    /// A request, headers and body. cpp-httplib bounds neither the number of headers nor a chunked body, so
    /// this does. Larger than the largest body accepted, so that a client that sends too much gets to read
    /// why.
    size_t request_bytes = size_t{8} << 20;
    std::chrono::milliseconds idle_time{2'000};      ///< until a request begins
    std::chrono::milliseconds request_time{10'000};  ///< until it has arrived whole
    std::chrono::milliseconds write_progress{10'000};
};

class Connection final : public httplib::Stream {
  public:
    Connection(int descriptor, const ConnectionLimits& limits, const std::atomic<bool>& stopping);

    /// The client will send nothing more: it has gone, or has closed its side to say that it has enough.
    [[nodiscard]] bool is_ended_by_client() const;
    /// From now on a client that takes nothing is waited for as long as it lives.
    void let_client_pause() { may_pause_ = true; }

    [[nodiscard]] bool is_readable() const override;
    [[nodiscard]] bool is_writable() const override;
    ssize_t read(char* data, size_t size) override;
    ssize_t write(const char* data, size_t size) override;
    void get_remote_ip_and_port(std::string& ip, int& port) const override;
    void get_local_ip_and_port(std::string& ip, int& port) const override;
    [[nodiscard]] socket_t socket() const override { return descriptor_; }

  private:
    using Clock = std::chrono::steady_clock;
    bool wait_for(short events, Clock::time_point deadline) const;

    int descriptor_;
    ConnectionLimits limits_;
    const std::atomic<bool>& stopping_;
    Clock::time_point begin_;
    Clock::time_point request_deadline_;  ///< of its first byte, then of its last
    bool may_pause_ = false;
    size_t received_ = 0;
    std::array<char, 4096> buffer_{};
    size_t buffer_start_ = 0;
    size_t buffer_end_ = 0;
};

}  // namespace pktpit::router
