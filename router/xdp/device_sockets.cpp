// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/device_sockets.h"

#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/errno_text.h"
#include "base/fd.h"

namespace pktpit::router {
namespace {

// The kernel lets go of a queue some time after its last socket was closed, ours or that of a daemon that has
// just ended: tens of milliseconds, more where much else is done with its devices.
constexpr std::chrono::seconds patience{5};

// Linux 6.18: XDP_MAX_TX_SKB_BUDGET, frames that one system call sends in copy mode. 32 without it.
constexpr int max_transmit_budget_option = 9;
constexpr uint32_t transmit_budget = 256;

}  // namespace

DeviceSockets::~DeviceSockets() {
    for (const auto& socket : sockets_)
        if (socket->handle) xsk_socket__delete(socket->handle);
    if (umem_) xsk_umem__delete(umem_);
}

// The rings are those of the first queue.
Result<void> DeviceSockets::register_memory(QueueRings& rings) {
    xsk_umem_config config{};
    config.fill_size = socket_ring_entries;
    config.comp_size = socket_ring_entries;
    config.frame_size = PacketMemory::chunk_bytes;
    const int error = xsk_umem__create(&umem_, memory_.bytes().data(), memory_.bytes().size(), &rings.fill,
                                       &rings.completion, &config);
    if (error == 0) return {};
    umem_ = nullptr;
    return fail("AF_XDP", "cannot register packet memory: " + errno_text(-error),
                "a kernel with AF_XDP, and CAP_NET_RAW", "run as root; ulimit -l");
}

Result<void> DeviceSockets::open_queue(uint16_t number) {
    auto rings = std::make_unique<QueueRings>();
    rings->number = number;
    rings->queue = static_cast<uint32_t>(rings_.size());
    const QueueCount queues = queues_of(device_.name);
    const unsigned worker = (device_.first_worker + rings->queue) % device_.workers;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        // Without a socket nothing holds the registration: it begins anew, as a failed one leaves it
        // unusable.
        if (sockets_.empty()) {
            if (umem_) xsk_umem__delete(umem_);
            umem_ = nullptr;
            if (auto done = register_memory(*rings); !done) return done;
        }
        auto opened = open_socket(*rings, worker, true, rings->queue < queues.transmit);
        if (opened) break;
        const bool busy = errno == EBUSY;
        if (!busy || std::chrono::steady_clock::now() > deadline) return opened;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    rings_.push_back(std::move(rings));
    return {};
}

// They share the first queue: the socket that registered the memory is there, and others can join only that.
Result<void> DeviceSockets::open_senders() {
    for (unsigned worker = 0; worker < device_.workers; worker++) {
        if (sender(worker)) continue;
        if (auto opened = open_socket(*rings_.front(), worker, false, true); !opened) return opened;
        rings_.front()->shared = true;
    }
    return {};
}

Result<void> DeviceSockets::open_socket(QueueRings& rings, unsigned worker, bool receives, bool sends) {
    auto socket = std::make_unique<PortSocket>();
    socket->rings = &rings;
    socket->worker = worker;
    socket->port = device_.port;
    socket->receives = receives;
    socket->sends = sends;
    xsk_socket_config config{};
    config.rx_size = socket_ring_entries;
    config.tx_size = socket_ring_entries;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_USE_NEED_WAKEUP | (device_.egress_only ? XDP_COPY : 0);
    const int error = xsk_socket__create_shared(
        &socket->handle, device_.name.c_str(), rings.queue, umem_, receives ? &socket->rx : nullptr,
        sends ? &socket->tx : nullptr, &rings.fill, &rings.completion, &config);
    if (error != 0) {
        auto refused =
            fail(device_.name,
                 "no AF_XDP socket on queue " + std::to_string(rings.queue) + ": " + errno_text(-error),
                 "a device that AF_XDP can be bound to, and a queue that no other program has",
                 "\"forwarding\": \"inline\" does without");
        errno = -error;
        return refused;
    }
    if (sends)
        (void)setsockopt(socket->descriptor(), SOL_XDP, max_transmit_budget_option, &transmit_budget,
                         sizeof transmit_budget);
    sockets_.push_back(std::move(socket));
    return {};
}

PortSocket* DeviceSockets::sender(unsigned worker) const {
    for (const auto& socket : sockets_)
        if (socket->worker == worker && socket->sends) return socket.get();
    return nullptr;
}

bool DeviceSockets::zero_copy() const {
    xdp_options options{};
    socklen_t length = sizeof options;
    return !sockets_.empty() &&
           getsockopt(sockets_.front()->descriptor(), SOL_XDP, XDP_OPTIONS, &options, &length) == 0 &&
           (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

QueueCount queues_of(const std::string& device) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return {};
    return {std::max(channels.rx_count + channels.combined_count, 1U),
            std::max(channels.tx_count + channels.combined_count, 1U)};
}

// By trying to bind a socket of its own there, without the driver having to know.
bool queue_is_free(uint32_t ifindex, uint32_t queue) {
    std::array<char, IFNAMSIZ> name{};
    if (!if_indextoname(ifindex, name.data())) return true;  // and with the device all that is bound to it
    constexpr uint32_t entries = 2;
    alignas(4096) static std::array<std::byte, 2 * PacketMemory::chunk_bytes> memory;
    xdp_umem_reg area{};
    area.addr = reinterpret_cast<uintptr_t>(memory.data());
    area.len = memory.size();
    area.chunk_size = PacketMemory::chunk_bytes;
    const Fd socket(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (setsockopt(socket.get(), SOL_XDP, XDP_UMEM_REG, &area, sizeof area) != 0) return false;
    for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_TX_RING})
        if (setsockopt(socket.get(), SOL_XDP, ring, &entries, sizeof entries) != 0) return false;
    sockaddr_xdp address{};
    address.sxdp_family = AF_XDP;
    address.sxdp_flags = XDP_COPY;
    address.sxdp_ifindex = ifindex;
    address.sxdp_queue_id = queue;
    return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
           errno != EBUSY;
}

}  // namespace pktpit::router
