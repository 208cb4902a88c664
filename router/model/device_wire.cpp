// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"
#include "base/fd.h"
#include "router/dataplane/linux_below.h"
#include "router/model/wire.h"

namespace pktpit::router {
namespace {

constexpr size_t tag_at = 12;  // behind the MAC addresses
constexpr size_t tag_bytes = 4;

/// A Linux device through a packet socket: the kernel hands over a copy of what it receives.
class DeviceWire : public Wire {
  public:
    DeviceWire(LinuxBelow below, Fd socket, uint32_t index, MacAddress mac)
        : below_(std::move(below)), socket_(std::move(socket)), index_(index), mac_(mac) {}

    [[nodiscard]] const std::string& name() const override { return below_.name(); }
    [[nodiscard]] MacAddress mac() const override { return mac_; }
    [[nodiscard]] std::optional<uint32_t> mtu() const override { return below_.mtu(); }
    void set_mtu(uint32_t mtu) override { (void)below_.set_mtu(mtu); }
    [[nodiscard]] bool link_up() const override { return !lost() && below_.running(); }
    [[nodiscard]] bool lost() const override { return below_.index() != index_; }
    [[nodiscard]] bool takes_own_frames() const override { return true; }
    [[nodiscard]] int descriptor() const override { return socket_.get(); }

    // The kernel takes VLAN tags off and tells them beside the frame.
    Frame receive(std::span<std::byte> room) override {
        std::byte* begin = room.data() + tag_bytes;
        iovec bytes{begin, room.size() - tag_bytes};
        alignas(cmsghdr) char beside[CMSG_SPACE(sizeof(tpacket_auxdata))];
        msghdr message{};
        message.msg_iov = &bytes;
        message.msg_iovlen = 1;
        message.msg_control = beside;
        message.msg_controllen = sizeof beside;
        const ssize_t length = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_TRUNC);
        if (length <= 0) return {};
        tpacket_auxdata told{};
        if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
            header && header->cmsg_level == SOL_PACKET && header->cmsg_type == PACKET_AUXDATA)
            std::memcpy(&told, CMSG_DATA(header), sizeof told);
        Frame frame{static_cast<uint32_t>(length), std::nullopt};
        const size_t kept = std::min<size_t>(frame.length, bytes.iov_len);
        if ((told.tp_status & TP_STATUS_VLAN_VALID) == 0 || kept < tag_at) {
            std::memmove(room.data(), begin, kept);
            return frame;
        }
        std::memmove(room.data(), begin, tag_at);
        const uint16_t tag[2] = {
            htons((told.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? told.tp_vlan_tpid : ETH_P_8021Q),
            htons(told.tp_vlan_tci)};
        std::memcpy(room.data() + tag_at, tag, sizeof tag);
        frame.length += tag_bytes;
        return frame;
    }

    bool send(std::span<const std::byte> frame, uint64_t) override {
        return ::send(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT) ==
               static_cast<ssize_t>(frame.size());
    }

  private:
    LinuxBelow below_;
    Fd socket_;
    uint32_t index_;
    MacAddress mac_;
};

}  // namespace

Result<std::unique_ptr<Wire>> open_device_wire(const std::string& device, const std::string& where,
                                               const std::string& instance) {
    auto below = LinuxBelow::take(device, where, instance);
    if (!below) return tl::unexpected(below.error());
    const auto refuse = [&](const char* what) {
        return fail(where, "\"" + device + "\": " + what + ": " + errno_text(errno),
                    "a device that a packet socket can be put on", "run as root");
    };
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return refuse("no packet socket");
    const int on = 1;
    const int room = 8 << 20;
    (void)setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    if (setsockopt(socket.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) != 0)
        return refuse("VLAN tags would be lost");
    // What we send is not to come back. Kernels before 4.20 do not know the option; then what we send would.
    if (setsockopt(socket.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0)
        return refuse("frames that are sent would come back");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(below->index());
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return refuse("the packet socket cannot be bound");
    // The tap's MAC address may be changed; the port then hears the new one, too.
    packet_mreq all{};
    all.mr_ifindex = address.sll_ifindex;
    all.mr_type = PACKET_MR_PROMISC;
    (void)setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all);
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    if (ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0) return refuse("no MAC address");
    MacAddress mac;
    std::memcpy(mac.bytes.data(), request.ifr_hwaddr.sa_data, mac.bytes.size());
    const uint32_t index = below->index();
    return std::make_unique<DeviceWire>(std::move(*below), std::move(socket), index, mac);
}

}  // namespace pktpit::router
