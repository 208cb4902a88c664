// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/keeper.h"

#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/errno_text.h"
#include "router/dataplane/run_directory.h"

namespace pktpit::router {
namespace {

constexpr int patience_ms = 5000;

}  // namespace

Result<void> end_earlier_keeper(const std::string& instance) {
    const auto devices = end_keeper(run_path(instance, keeper_suffix));
    if (!devices) return tl::unexpected(devices.error());
    if (*devices != 0) spdlog::info("the keeper of an earlier daemon has let go of {} NICs", *devices);
    return {};
}

Keeper::~Keeper() {
    if (!link_.socket) return;
    link_.socket.reset();
    if (!kept_.empty()) return;
    ::unlink(path_.c_str());
    wait_for_end();
}

void Keeper::begin(const DeviceEvents& events, const offload::PeerMemory& memory, std::span<const int> beside,
                   uint32_t device_patience_ms) {
    if (!lives()) return;
    const int of_events = events.descriptor();
    std::vector<int> of_memory{memory.descriptor()};
    of_memory.insert(of_memory.end(), beside.begin(), beside.end());
    const bool done = listen() && ask({KeeperMessage::What::events, {}}, {&of_events, 1}) &&
                      ask({KeeperMessage::What::memory, memory.source().device.to_string(), memory.offset(),
                           device_patience_ms},
                          of_memory);
    if (!done && lives()) {
        spdlog::warn("the process that is to keep the devices refuses: forwarding ends with the daemon");
        link_.socket.reset();
        wait_for_end();
    }
}

bool Keeper::listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ::unlink(path_.c_str());  // that of a keeper that has gone
    const Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        spdlog::warn("{}: {}", path_, errno_text(errno));
        return false;
    }
    const int descriptor = socket.get();
    return ask({KeeperMessage::What::listen, {}}, {&descriptor, 1});
}

void Keeper::keep(const std::string& port, const offload::VfioDevice& device, int removal) {
    const auto [container, group] = device.container()->descriptors();
    const std::array<int, 4> all{device.descriptor(), removal, container, group};
    keep(port, device.config_space(), all);
}

void Keeper::keep(const std::string& port, Result<uint64_t> config_space, std::span<const int> descriptors) {
    if (!lives()) return;
    if (config_space && ask({KeeperMessage::What::device, port, *config_space}, descriptors))
        kept_.insert(port);
    else
        spdlog::warn("{}: is not kept: it forwards no more when the daemon is killed", port);
}

void Keeper::drop(const std::string& port) {
    if (kept_.contains(port) && ask({KeeperMessage::What::drop, port}, {})) kept_.erase(port);
}

bool Keeper::ask(const KeeperMessage& message, std::span<const int> descriptors) {
    if (!lives()) return false;
    KeeperReply reply;
    pollfd answer{link_.socket.get(), POLLIN, 0};
    if (send_to_keeper(link_.socket.get(), message, descriptors)) {
        int ready = 0;
        do
            ready = poll(&answer, 1, patience_ms);
        while (ready < 0 && errno == EINTR);
        if (ready == 1 && recv(link_.socket.get(), &reply, sizeof reply, 0) == sizeof reply)
            return reply.done != 0;
        if (ready == 0) {
            // What it holds has to be closed, or the kernel waits for it. (tgkill: its own child, which
            // nobody has waited for, so that the number is no other's.)
            if (link_.process > 0) (void)::tgkill(link_.process, link_.process, SIGKILL);
            gone("does not answer");
            return false;
        }
    }
    gone("has ended");
    return false;
}

void Keeper::look() {
    char byte = 0;
    if (lives() && recv(link_.socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0) gone("has ended");
}

void Keeper::gone(const std::string& why) {
    spdlog::warn(
        "the process that keeps the devices {}: forwarding ends with the daemon from now on; a restart of "
        "pktpitd starts another",
        why);
    link_.socket.reset();
    kept_.clear();
    wait_for_end();
}

void Keeper::wait_for_end() {
    if (link_.process > 0) (void)waitpid(std::exchange(link_.process, -1), nullptr, 0);
}

}  // namespace pktpit::router
