// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/linux_below.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/errno_text.h"
#include "router/dataplane/sysctl.h"

namespace pktpit::router {
namespace {

// IPv6 is off. IPv4 without addresses answers nothing but ARP for addresses that other devices have
// (arp_ignore 8: nor that), drops what a tap's address is the destination of, since its source is not behind
// this device (rp_filter 1), and forwards nothing.
constexpr std::array<std::pair<const char*, const char*>, 4> silent{{{"ipv6/conf/%/disable_ipv6", "1"},
                                                                     {"ipv4/conf/%/arp_ignore", "8"},
                                                                     {"ipv4/conf/%/rp_filter", "1"},
                                                                     {"ipv4/conf/%/forwarding", "0"}}};

ifreq request_for(const std::string& name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    return request;
}

/// An address that somebody has given to it, not one that IPv6 made by itself.
bool has_address(const std::string& name) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return false;
    bool found = false;
    for (const ifaddrs* at = all; at; at = at->ifa_next) {
        if (name != at->ifa_name || !at->ifa_addr) continue;
        if (at->ifa_addr->sa_family == AF_INET) found = true;
        if (at->ifa_addr->sa_family == AF_INET6)
            found = found ||
                    !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr);
    }
    freeifaddrs(all);
    return found;
}

}  // namespace

LinuxBelow::LinuxBelow(std::string name)
    : name_(std::move(name)), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

Result<LinuxBelow> LinuxBelow::take(const std::string& name, const std::string& where) {
    LinuxBelow device(name);
    ifreq request = request_for(name);
    if (ioctl(device.socket_.get(), SIOCGIFFLAGS, &request) != 0)
        return fail(where, "there is no Linux device \"" + name + "\"", "an existing Linux device",
                    "`ip -br link` lists them");
    if (has_address(name))
        return fail(where, "\"" + name + "\" has addresses: the kernel uses it",
                    "a Linux device without addresses", "the port's own are /interfaces/…/addresses");
    if ((request.ifr_flags & IFF_UP) == 0) {
        device.silence();  // before it can say a word
        request.ifr_flags |= IFF_UP;
        if (ioctl(device.socket_.get(), SIOCSIFFLAGS, &request) != 0)
            return fail(where, "\"" + name + "\" cannot be set up: " + errno_text(errno),
                        "permission to change the device", "run as root");
    }
    device.silence();
    // The kernel takes the larger of the two, and 2 lets in what came by the wrong device.
    if (std::string all; std::ifstream("/proc/sys/net/ipv4/conf/all/rp_filter") >> all && all == "2")
        spdlog::warn("{}: net.ipv4.conf.all.rp_filter is 2, so the kernel may answer there beside the port",
                     name);
    return device;
}

LinuxBelow::~LinuxBelow() {
    for (const auto& [path, before] : switches_before_)
        (void)set_sysctl(path, before);
}

void LinuxBelow::silence() {
    if (!switches_before_.empty()) return;
    for (const auto& [pattern, value] : silent) {
        std::string path = pattern;
        path.replace(path.find('%'), 1, name_);
        if (const auto before = set_sysctl(path, value); before && *before != value)
            switches_before_.emplace_back(path, *before);
    }
}

uint32_t LinuxBelow::index() const {
    return if_nametoindex(name_.c_str());
}

bool LinuxBelow::running() const {
    ifreq request = request_for(name_);
    return ioctl(socket_.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0 &&
           (request.ifr_flags & IFF_RUNNING) != 0;
}

std::optional<uint32_t> LinuxBelow::mtu() const {
    ifreq request = request_for(name_);
    if (ioctl(socket_.get(), SIOCGIFMTU, &request) != 0) return std::nullopt;
    return static_cast<uint32_t>(request.ifr_mtu);
}

bool LinuxBelow::set_mtu(uint32_t mtu) const {
    ifreq request = request_for(name_);
    request.ifr_mtu = static_cast<int>(mtu);
    return ioctl(socket_.get(), SIOCSIFMTU, &request) == 0;
}

}  // namespace pktpit::router
