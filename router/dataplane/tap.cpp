// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/tap.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr const char* tun_path = "/dev/net/tun";

ifreq request_for(const std::string& name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    return request;
}

}  // namespace

Result<Tap> Tap::create(const std::string& name, const MacAddress& mac) {
    Fd file(::open(tun_path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        return fail(tun_path, "cannot be opened: " + errno_text(errno), "the kernel's tun driver",
                    errno == EACCES ? "run as root" : "modprobe tun");
    ifreq request = request_for(name);
    request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
    if (ioctl(file.get(), TUNSETIFF, &request) != 0)
        return fail("/interfaces/" + name,
                    errno == EBUSY ? "there is a device \"" + name + "\" already"
                                   : "the port's tap cannot be made: " + errno_text(errno),
                    "a name that no Linux device has",
                    errno == EBUSY ? "`ip link` shows it; give the port another name" : "run as root");
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    request = request_for(name);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    std::memcpy(request.ifr_hwaddr.sa_data, mac.bytes.data(), mac.bytes.size());
    if (ioctl(socket.get(), SIOCSIFHWADDR, &request) != 0)
        return fail(
            "/interfaces/" + name,
            "the tap does not take the NIC's MAC address " + mac.to_string() + ": " + errno_text(errno),
            "a unicast address", "");
    return Tap(std::move(file));
}

size_t Tap::receive(std::span<uint8_t> room) const {
    const ssize_t length = ::read(file_.get(), room.data(), room.size());
    return length > 0 ? static_cast<size_t>(length) : 0;
}

bool Tap::deliver(std::span<const uint8_t> frame) const {
    return ::write(file_.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size());
}

std::optional<MacAddress> Tap::mac() const {
    ifreq request{};
    if (ioctl(file_.get(), SIOCGIFHWADDR, &request) != 0) return std::nullopt;
    MacAddress mac;
    std::memcpy(mac.bytes.data(), request.ifr_hwaddr.sa_data, mac.bytes.size());
    return mac;
}

// By its name, which may have changed.
std::optional<uint32_t> Tap::mtu() const {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (ioctl(file_.get(), TUNGETIFF, &request) != 0 || ioctl(socket.get(), SIOCGIFMTU, &request) != 0)
        return std::nullopt;
    return static_cast<uint32_t>(request.ifr_mtu);
}

bool Tap::set_mtu(uint32_t mtu) const {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (ioctl(file_.get(), TUNGETIFF, &request) != 0) return false;
    request.ifr_mtu = static_cast<int>(mtu);
    return ioctl(socket.get(), SIOCSIFMTU, &request) == 0;
}

void Tap::set_carrier(bool on) {
    int value = on ? 1 : 0;
    if (carrier_ != on && ioctl(file_.get(), TUNSETCARRIER, &value) == 0) carrier_ = on;
}

}  // namespace pktpit::router
