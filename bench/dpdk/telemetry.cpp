// SPDX-License-Identifier: BSD-3-Clause
#include "bench/dpdk/telemetry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>

#include "bench/harness/failure.h"

namespace pktpit::bench::dpdk {
namespace {

std::string receive(int socket) {
    std::array<char, 65536> buffer;
    const ssize_t bytes = recv(socket, buffer.data(), buffer.size(), 0);
    if (bytes <= 0) harness::fail_errno("read DPDK's telemetry");
    return {buffer.data(), static_cast<size_t>(bytes)};
}

}  // namespace

Telemetry::Telemetry(const std::string& prefix)
    : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const std::string path = "/run/dpdk/" + prefix + "/dpdk_telemetry.v2";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (!socket_.valid() ||
        connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        harness::fail_errno("connect to " + path);
    (void)receive(socket_.get());  // it introduces itself
}

PortCounters Telemetry::port(unsigned number) {
    const std::string question = fmt::format("/ethdev/stats,{}", number);
    if (send(socket_.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0)
        harness::fail_errno("ask DPDK's telemetry");
    const auto answer = nlohmann::json::parse(receive(socket_.get()), nullptr, false);
    const auto stats = answer.find("/ethdev/stats");
    if (!answer.is_object() || stats == answer.end() || !stats->is_object())
        throw harness::Failure("DPDK's telemetry has no counters of port " + std::to_string(number));
    return {stats->value("ipackets", uint64_t{0}), stats->value("opackets", uint64_t{0})};
}

}  // namespace pktpit::bench::dpdk
