#include "router/xdp/socket_io.h"

#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fib/errno_text.h"
#include "fib/fd.h"

namespace pktpit::router {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::Slot;
using offload::SlotOwner;

namespace {

constexpr uint32_t chunk_bytes = 4096;
constexpr uint32_t chunks = 16384;  // 64 MiB
constexpr uint32_t ring_entries = 1024;
constexpr size_t batch = 64;

uint64_t monotonic_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Asked of the device itself: /sys may be that of another network namespace.
uint32_t receive_queues(const std::string& device) {
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&channels);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) return 1;
    return std::max(channels.rx_count + channels.combined_count, 1U);
}

}  // namespace

SocketIo::SocketIo(WorkerCounters& counters) : counters_(counters), pool_(0, chunks) {}

Result<std::unique_ptr<SocketIo>> SocketIo::open(WorkerCounters& counters) {
    std::unique_ptr<SocketIo> self(new SocketIo(counters));
    auto memory = offload::CpuMapping::of_hugepages(size_t{chunks} * chunk_bytes);
    if (!memory) memory = offload::CpuMapping::of_pages(size_t{chunks} * chunk_bytes);
    if (!memory) return tl::unexpected(memory.error());
    self->memory_ = std::move(*memory);
    xsk_umem_config config{};
    config.fill_size = ring_entries;
    config.comp_size = ring_entries;
    config.frame_size = chunk_bytes;
    const int error =
        xsk_umem__create(&self->umem_, self->memory_.bytes().data(), self->memory_.bytes().size(),
                         &self->first_fill_, &self->first_completion_, &config);
    if (error != 0)
        return fail("AF_XDP", "cannot register packet memory: " + errno_text(-error),
                    "a kernel with AF_XDP, and CAP_NET_RAW", "run as root; ulimit -l");
    return self;
}

SocketIo::~SocketIo() {
    for (auto& [place, socket] : sockets_)
        if (socket->handle) xsk_socket__delete(socket->handle);
    if (umem_) xsk_umem__delete(umem_);
}

Result<SocketIo::Socket*> SocketIo::make(uint32_t ifindex, uint32_t queue, const std::string& device) {
    auto& place = sockets_[{ifindex, queue}];
    if (place) return place.get();
    auto socket = std::make_unique<Socket>();
    xsk_socket_config config{};
    config.rx_size = ring_entries;
    config.tx_size = ring_entries;
    config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
    config.bind_flags = XDP_USE_NEED_WAKEUP;
    const int error = xsk_socket__create_shared(&socket->handle, device.c_str(), queue, umem_, &socket->rx,
                                                &socket->tx, &socket->fill, &socket->completion, &config);
    if (error != 0) {
        sockets_.erase({ifindex, queue});
        return fail(device, "no AF_XDP socket on queue " + std::to_string(queue) + ": " + errno_text(-error),
                    "a device that AF_XDP can be bound to, and a queue that no other program has",
                    "\"forwarding\": \"inline\" does without");
    }
    place = std::move(socket);
    return place.get();
}

Result<std::map<uint32_t, int>> SocketIo::add(uint16_t port, uint32_t ifindex, const std::string& device,
                                              bool egress_only) {
    std::map<uint32_t, int> descriptors;
    std::vector<Socket*> made;
    const uint32_t queues = egress_only ? 1 : receive_queues(device);
    if (queues > PP_PORT_QUEUES)
        return fail(device, "it has " + std::to_string(queues) + " receive queues",
                    "at most " + std::to_string(PP_PORT_QUEUES) + " on a split port",
                    "ethtool -L " + device + " combined " + std::to_string(PP_PORT_QUEUES));
    for (uint32_t queue = 0; queue < queues; queue++) {
        auto socket = make(ifindex, queue, device);
        if (!socket) return tl::unexpected(socket.error());
        made.push_back(*socket);
        descriptors.emplace(queue, xsk_socket__fd((*socket)->handle));
    }
    for (Socket* socket : made) {
        socket->port = port;
        if (egress_only) continue;
        receiving_.push_back(socket);
        fill(*socket);
    }
    egress_[port] = made.front();
    sending_.push_back(made.front());
    return descriptors;
}

// Buffers stay in the rings of a socket at rest: it may be taken again.
void SocketIo::remove(uint16_t port) {
    egress_[port] = nullptr;
    const auto is_of_port = [&](const Socket* socket) { return socket->port == port; };
    std::erase_if(receiving_, is_of_port);
    std::erase_if(sending_, is_of_port);
    for (auto& [place, socket] : sockets_)
        if (socket->port == port) socket->port = 0;
}

bool SocketIo::zero_copy(uint16_t port) const {
    xdp_options options{};
    socklen_t length = sizeof options;
    const Socket* socket = egress_[port];
    return socket &&
           getsockopt(xsk_socket__fd(socket->handle), SOL_XDP, XDP_OPTIONS, &options, &length) == 0 &&
           (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

Slot SocketIo::slot_of(uint64_t offset) const {
    return {0, static_cast<uint32_t>(offset / chunk_bytes)};
}

void SocketIo::fill(Socket& socket) {
    std::array<Slot, batch> slots;
    while (true) {
        const uint32_t room = std::min<uint32_t>(xsk_prod_nb_free(&socket.fill, batch), batch);
        const auto taken =
            static_cast<uint32_t>(pool_.take(std::span(slots).first(room), SlotOwner::receive_ring));
        uint32_t index = 0;
        if (taken == 0 || xsk_ring_prod__reserve(&socket.fill, taken, &index) != taken) {
            pool_.give(std::span(slots).first(taken), SlotOwner::receive_ring);
            return;
        }
        for (uint32_t i = 0; i < taken; i++)
            *xsk_ring_prod__fill_addr(&socket.fill, index + i) = uint64_t{slots[i].index} * chunk_bytes;
        xsk_ring_prod__submit(&socket.fill, taken);
        if (taken < batch) return;
    }
}

size_t SocketIo::receive(std::span<HeaderSlice> slices) {
    if (receiving_.empty()) return 0;
    const uint64_t now = monotonic_nanoseconds();
    const size_t share = std::max<size_t>(slices.size() / receiving_.size(), 8);
    first_ = (first_ + 1) % receiving_.size();
    size_t count = 0;
    for (size_t turn = 0; turn < receiving_.size() && count < slices.size(); turn++) {
        Socket& socket = *receiving_[(first_ + turn) % receiving_.size()];
        count += receive_from(socket, slices.subspan(count, std::min(share, slices.size() - count)), now);
        fill(socket);
        if (xsk_ring_prod__needs_wakeup(&socket.fill))
            (void)recvfrom(xsk_socket__fd(socket.handle), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    }
    return count;
}

size_t SocketIo::receive_from(Socket& socket, std::span<HeaderSlice> slices, uint64_t now) {
    uint32_t index = 0;
    const uint32_t got = xsk_ring_cons__peek(&socket.rx, static_cast<uint32_t>(slices.size()), &index);
    for (uint32_t i = 0; i < got; i++) {
        const xdp_desc* descriptor = xsk_ring_cons__rx_desc(&socket.rx, index + i);
        HeaderSlice& slice = slices[i];
        slice = HeaderSlice();
        slice.bytes = at(descriptor->addr);
        slice.length = static_cast<uint16_t>(std::min<uint32_t>(descriptor->len, PP_SLICE_BYTES));
        slice.port = socket.port;
        slice.frame_length = descriptor->len;
        slice.slot = slot_of(descriptor->addr);
        slice.timestamp = now;
        pool_.pass(slice.slot, SlotOwner::receive_ring, SlotOwner::control_loop);
    }
    if (got != 0) xsk_ring_cons__release(&socket.rx, got);
    return got;
}

size_t SocketIo::transmit(Socket& socket, std::span<const EgressDescriptor> frames) {
    const auto wanted = static_cast<uint32_t>(frames.size());
    const uint32_t room = std::min(xsk_prod_nb_free(&socket.tx, wanted), wanted);
    uint32_t index = 0;
    if (room == 0 || xsk_ring_prod__reserve(&socket.tx, room, &index) != room) return 0;
    for (uint32_t i = 0; i < room; i++) {
        xdp_desc* descriptor = xsk_ring_prod__tx_desc(&socket.tx, index + i);
        descriptor->addr = static_cast<uint64_t>(frames[i].header - at(0));
        descriptor->len = frames[i].header_length + frames[i].payload_length;
        descriptor->options = 0;
    }
    xsk_ring_prod__submit(&socket.tx, room);
    socket.sending += room;
    return room;
}

// In copy mode this is what sends; the kernel takes up to 32 frames a call.
void SocketIo::kick(Socket& socket) {
    if (socket.sending != 0 && xsk_ring_prod__needs_wakeup(&socket.tx))
        (void)sendto(xsk_socket__fd(socket.handle), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
}

void SocketIo::submit(std::span<const EgressDescriptor> descriptors) {
    std::array<EgressDescriptor, batch> frames;
    for (Socket* socket : sending_) {
        size_t count = 0;
        for (const EgressDescriptor& descriptor : descriptors) {
            if (descriptor.port != socket->port) continue;
            pool_.pass(descriptor.slot, SlotOwner::control_loop, SlotOwner::transmit_ring);
            frames[count++] = descriptor;
        }
        if (count == 0) continue;
        const size_t taken = transmit(*socket, std::span<const EgressDescriptor>(frames).first(count));
        uint64_t bytes = 0;
        for (size_t i = 0; i < taken; i++)
            bytes += frames[i].header_length + frames[i].payload_length;
        counters_.sent(socket->port, taken, bytes);
        for (size_t i = taken; i < count; i++)
            drop(socket->port, PP_DROP_EGRESS_FULL, frames[i].slot, SlotOwner::transmit_ring);
        kick(*socket);
    }
    for (const EgressDescriptor& descriptor : descriptors)
        if (!egress_[descriptor.port])
            drop(descriptor.port, PP_DROP_NO_EGRESS, descriptor.slot, SlotOwner::control_loop);
}

void SocketIo::release(std::span<const Slot> slots) {
    pool_.give(slots, SlotOwner::control_loop);
}

void SocketIo::complete() {
    for (auto& [place, socket] : sockets_) {
        if (socket->sending == 0) continue;
        kick(*socket);
        uint32_t index = 0;
        const uint32_t done = xsk_ring_cons__peek(&socket->completion, ring_entries, &index);
        for (uint32_t i = 0; i < done; i++) {
            const Slot slot = slot_of(*xsk_ring_cons__comp_addr(&socket->completion, index + i));
            pool_.give({&slot, 1}, SlotOwner::transmit_ring);
        }
        if (done != 0) xsk_ring_cons__release(&socket->completion, done);
        socket->sending -= done;
    }
}

void SocketIo::drop(uint16_t port, pp_verdict verdict, Slot slot, SlotOwner owner) {
    counters_.verdict(port, verdict);
    pool_.give({&slot, 1}, owner);
}

bool SocketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    std::memcpy(frame.data(), slice.bytes, slice.frame_length);
    return true;
}

void SocketIo::look() {
    for (Socket* socket : receiving_) {
        xdp_statistics statistics{};
        socklen_t length = sizeof statistics;
        if (getsockopt(xsk_socket__fd(socket->handle), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0)
            continue;
        const uint64_t dropped = statistics.rx_dropped + statistics.rx_ring_full;
        const uint64_t more = dropped - std::exchange(socket->dropped, dropped);
        if (more == 0) continue;
        counters_.received(socket->port, more, 0);
        counters_.verdict(socket->port, PP_DROP_PUNT_FULL, more);
    }
}

}  // namespace pktpit::router
