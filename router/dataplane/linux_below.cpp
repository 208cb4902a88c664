// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/linux_below.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "router/dataplane/run_directory.h"
#include "router/dataplane/sysctl.h"

namespace pktpit::router {
namespace {

// IPv6 is off. IPv4 without addresses answers nothing but ARP for addresses that other devices have
// (arp_ignore 8: nor that), drops what a tap's address is the destination of, since its source is not behind
// this device (rp_filter 1), and forwards nothing.
struct Silent {
    std::string_view name;    ///< in the device's file
    std::string_view family;  ///< the sysctl: family/conf/DEVICE/last
    std::string_view last;
    std::string_view value;
    [[nodiscard]] std::string path(const std::string& device) const {
        return std::string(family) + "/conf/" + device + "/" + std::string(last);
    }
};
constexpr std::array<Silent, 4> silent{{{"disable_ipv6", "ipv6", "disable_ipv6", "1"},
                                        {"arp_ignore", "ipv4", "arp_ignore", "8"},
                                        {"rp_filter", "ipv4", "rp_filter", "1"},
                                        {"ipv4_forwarding", "ipv4", "forwarding", "0"}}};

void put_back(const std::string& device, const SwitchValues& before) {
    for (const Silent& one : silent)
        if (const auto value = before.find(one.name); value != before.end())
            (void)set_sysctl(one.path(device), value->second);
}

std::string files_of(const std::string& instance) {
    return run_path(instance, ".below_");
}

/// Nobody else has the device whose file it is; an empty Fd: somebody has.
Fd lock_file(const std::string& path, int more) {
    Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | more, 0640));
    if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
    return file;
}

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

LinuxBelow::LinuxBelow(std::string name, const std::string& instance)
    : name_(std::move(name)),
      file_(files_of(instance) + std::to_string(current_network_namespace()) + "_" +
            std::to_string(if_nametoindex(name_.c_str()))),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

LinuxBelow::LinuxBelow(LinuxBelow&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, {})),
      socket_(std::move(other.socket_)),
      lock_(std::move(other.lock_)),
      before_(std::exchange(other.before_, {})) {}

Result<LinuxBelow> LinuxBelow::take(const std::string& name, const std::string& where,
                                    const std::string& instance) {
    LinuxBelow device(name, instance);
    ifreq request = request_for(name);
    if (ioctl(device.socket_.get(), SIOCGIFFLAGS, &request) != 0)
        return fail(where, "there is no Linux device \"" + name + "\"", "an existing Linux device",
                    "`ip -br link` lists them");
    if (has_address(name))
        return fail(where, "\"" + name + "\" has addresses: the kernel uses it",
                    "a Linux device without addresses", "the port's own are /interfaces/…/addresses");
    if (auto noted = device.note(); !noted) spdlog::warn("{}", noted.error().to_string());
    device.silence();  // before it can say a word
    if ((request.ifr_flags & IFF_UP) == 0) {
        request.ifr_flags |= IFF_UP;
        if (ioctl(device.socket_.get(), SIOCSIFFLAGS, &request) != 0)
            return fail(where, "\"" + name + "\" cannot be set up: " + errno_text(errno),
                        "permission to change the device", "run as root");
    }
    // The kernel takes the larger of the two, and 2 lets in what came by the wrong device.
    if (std::string all; std::ifstream("/proc/sys/net/ipv4/conf/all/rp_filter") >> all && all == "2")
        spdlog::warn("{}: net.ipv4.conf.all.rp_filter is 2, so the kernel may answer there beside the port",
                     name);
    return device;
}

// What an earlier daemon has noted is what it was.
Result<void> LinuxBelow::note() {
    for (const Silent& one : silent)
        if (const auto value = get_sysctl(one.path(name_)); value && *value != one.value)
            before_.emplace(one.name, *value);
    lock_ = lock_file(file_, O_CREAT);
    if (!lock_)
        return fail(file_, "cannot be kept: " + errno_text(errno), "a file of its own in the run directory",
                    "after a kill -9 the switches of " + name_ + " stay as they are");
    const auto left = load_run_state(file_);
    const uint32_t ifindex = index();
    if (left && *left && (*left)->switches.contains(ifindex)) {
        for (const auto& [name, value] : (*left)->switches.at(ifindex))
            before_.insert_or_assign(name, value);
    }
    RunState state;
    state.network_namespace = current_network_namespace();
    state.switches[ifindex] = before_;
    const std::string text = to_text(state);
    if (ftruncate(lock_.get(), 0) != 0 ||
        pwrite(lock_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return fail(file_, "cannot be written: " + errno_text(errno));
    return {};
}

LinuxBelow::~LinuxBelow() {
    if (file_.empty()) return;
    put_back(name_, before_);
    if (lock_) ::unlink(file_.c_str());
}

void LinuxBelow::silence() {
    for (const Silent& one : silent)
        (void)set_sysctl(one.path(name_), std::string(one.value));
}

void LinuxBelow::give_back_left(const std::string& instance) {
    const std::filesystem::path prefix = files_of(instance);
    std::error_code error;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path(), error))
        if (entry.path().filename().string().starts_with(prefix.filename().string()))
            files.push_back(entry.path());
    for (const auto& file : files) {
        const Fd lock = lock_file(file, 0);
        if (!lock) continue;
        const auto state = load_run_state(file);
        // Of another network namespace it is another daemon's to give back.
        if (state && *state && (*state)->network_namespace != current_network_namespace()) continue;
        if (state && *state)
            for (const auto& [ifindex, before] : (*state)->switches) {
                char name[IF_NAMESIZE] = {};
                if (if_indextoname(ifindex, name)) put_back(name, before);
            }
        ::unlink(file.c_str());
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
