// SPDX-License-Identifier: BSD-3-Clause
/// The AF_XDP sockets of one device: for each queue one that receives and sends, which is one worker's, and
/// for each worker without a queue of its own there one more to send by. All are on the device's own
/// registration of the packet memory, so that each device has zero-copy if its driver can, and goes without a
/// trace. The daemon's; what is in the sockets' rings is their workers' (router/xdp/socket_io.h).
#pragma once

#include <xdp/xsk.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "router/loop/socket_order.h"
#include "router/xdp/packet_memory.h"

namespace pktpit::router {

inline constexpr uint32_t socket_ring_entries = 1024;

/// What the kernel has of a queue, whichever sockets are on it.
struct QueueRings {
    uint16_t number = 0;  ///< by which slots note that they are in it
    uint32_t queue = 0;
    xsk_ring_prod fill{};  ///< the owner's
    xsk_ring_cons completion{};
    bool shared = false;  ///< workers beside the owner send by it: completions are whose turn it is
    std::atomic_flag reaping = ATOMIC_FLAG_INIT;
};

/// One worker's.
struct PortSocket {
    xsk_socket* handle = nullptr;
    xsk_ring_cons rx{};
    xsk_ring_prod tx{};
    QueueRings* rings = nullptr;
    unsigned worker = 0;
    uint16_t port = 0;
    bool receives = false;             ///< it has a receive ring
    bool sends = false;                ///< it has a transmit ring
    bool filling = false;              ///< receive buffers are wanted
    bool completes_checksums = false;  ///< of frames whose senders have left them to a NIC
    uint32_t filled = 0;               ///< slots that the kernel has for receiving
    uint32_t sending = 0;              ///< slots of the worker that the kernel has for sending
    uint32_t staged = 0;               ///< in the transmit ring, not handed over yet
    uint64_t staged_bytes = 0;
    uint32_t kicks_spared = 0;            ///< looks at frames under way that asked nothing of the kernel
    uint64_t dropped = 0;                 ///< by the kernel, as told before
    SocketOrder order;                    ///< of one that receives
    std::optional<uint32_t> last_number;  ///< of the frames taken (pp_order_tag)
    bool zero_copy = false;               ///< the device itself empties the transmit ring
    [[nodiscard]] int descriptor() const { return xsk_socket__fd(handle); }
};

class DeviceSockets {
  public:
    struct Device {
        std::string name;
        uint32_t ifindex = 0;
        uint16_t port = 0;
        unsigned workers = 1;
        unsigned first_worker = 0;  ///< whose queue 0 is; the others follow in turn
        bool egress_only = false;   ///< never with zero-copy: the device would receive into the sockets alone
    };
    explicit DeviceSockets(Device device, const PacketMemory& memory)
        : device_(std::move(device)), memory_(memory) {}
    ~DeviceSockets();
    DeviceSockets(const DeviceSockets&) = delete;
    DeviceSockets& operator=(const DeviceSockets&) = delete;

    /// Opens queues up to this many, and what workers without one need to send. `numbers` makes numbers of
    /// rings. Error: no AF_XDP there, or another program has a queue.
    template <class MakeNumber>
    Result<void> extend(uint32_t queues, MakeNumber&& numbers) {
        while (rings_.size() < queues)
            if (auto opened = open_queue(numbers()); !opened) return opened;
        return open_senders();
    }

    [[nodiscard]] const Device& device() const { return device_; }
    [[nodiscard]] const std::vector<std::unique_ptr<QueueRings>>& rings() const { return rings_; }
    [[nodiscard]] const std::vector<std::unique_ptr<PortSocket>>& sockets() const { return sockets_; }
    /// The socket that a worker sends by; there is always one.
    [[nodiscard]] PortSocket* sender(unsigned worker) const;
    [[nodiscard]] bool zero_copy() const;

  private:
    Result<void> open_queue(uint16_t number);
    Result<void> open_senders();
    Result<void> open_socket(QueueRings& rings, unsigned worker, bool receives, bool sends);
    Result<void> register_memory(QueueRings& rings);

    Device device_;
    const PacketMemory& memory_;
    xsk_umem* umem_ = nullptr;
    std::vector<std::unique_ptr<QueueRings>> rings_;  ///< by queue
    std::vector<std::unique_ptr<PortSocket>> sockets_;
};

/// How many queues a device has. Asked of the device itself: /sys may be that of another network namespace.
struct QueueCount {
    uint32_t receive = 1;
    uint32_t transmit = 1;
};
QueueCount queues_of(const std::string& device);

/// Whether the kernel has let go of a queue that a socket was bound to: only then does nothing of it touch
/// the packet memory any more. It does so some time after the socket is closed.
bool queue_is_free(uint32_t ifindex, uint32_t queue);

}  // namespace pktpit::router
