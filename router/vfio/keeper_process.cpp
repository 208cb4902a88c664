// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/keeper_process.h"

#include <linux/pci_regs.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.h"
#include "offload/pci/uevent.h"
#include "offload/peer_ops/device_memory.h"

namespace pktpit::router {
namespace {

constexpr size_t page_bytes = 4096;

/// To standard error, which is the daemon's: a log would open files.
void say(const std::string& text) {
    const std::string line = "pktpit-keeper: " + text + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

bool is_readable(int descriptor) {
    pollfd one{descriptor, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

/// Whoever else runs here has no say, even if a directory's mode lets him come by.
bool may_ask(int client) {
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == 0 || who.uid == geteuid());
}

void end_bus_mastering(int device, uint64_t config_space) {
    const auto place = static_cast<off_t>(config_space + PCI_COMMAND);
    uint16_t command = 0;
    if (pread(device, &command, sizeof command, place) != sizeof command) return;
    command &= static_cast<uint16_t>(~PCI_COMMAND_MASTER);
    [[maybe_unused]] const auto written = pwrite(device, &command, sizeof command, place);
}

}  // namespace

KeeperProcess::~KeeperProcess() {
    if (control_) munmap(control_, page_bytes);
}

void KeeperProcess::run() {
    while (!ended_) {
        std::vector<pollfd> waiting;
        for (const Fd* one : {&link_, &signals_, &listener_, &events_})
            if (*one) waiting.push_back({one->get(), POLLIN, 0});
        if (!daemon_lives())
            for (const auto& [name, device] : devices_)
                waiting.push_back({device.descriptors[1].get(), POLLIN, 0});
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
        // Who asks for everything to be let go is heard when it is known whether the daemon lives.
        if (link_ && is_readable(link_.get())) hear_daemon();
        if (events_ && is_readable(events_.get())) hear_events();
        if (!ended_ && is_readable(signals_.get())) hear_signal();
        if (!ended_ && listener_ && is_readable(listener_.get())) hear_others();
        if (!ended_ && !daemon_lives()) hear_removals();
    }
}

void KeeperProcess::hear_daemon() {
    auto received = receive_for_keeper(link_.get());
    if (!received) {
        link_.reset();
        ended_ = devices_.empty();
        if (!ended_) say("the daemon has gone; " + std::to_string(devices_.size()) + " NICs are kept");
        return;
    }
    const KeeperReply reply{take(std::move(*received)) ? 1U : 0U, static_cast<uint32_t>(devices_.size())};
    [[maybe_unused]] const auto sent = send(link_.get(), &reply, sizeof reply, MSG_NOSIGNAL);
}

bool KeeperProcess::take(ReceivedMessage received) {
    using What = KeeperMessage::What;
    std::vector<Fd>& descriptors = received.descriptors;
    switch (received.message.what) {
        case What::listen:
            // By this process: a client sees whom it is connected to.
            if (descriptors.size() != 1 || ::listen(descriptors[0].get(), 4) != 0) return false;
            listener_ = std::move(descriptors[0]);
            return true;
        case What::events:
            if (descriptors.size() != 1) return false;
            events_ = std::move(descriptors[0]);
            return true;
        case What::memory:
            return take_memory(received);
        case What::device:
            if (descriptors.size() < 2) return false;
            devices_[received.message.called()] = {std::move(descriptors), received.message.offset};
            return true;
        case What::drop:
            devices_.erase(received.message.called());
            return true;
        case What::let_go:
            break;
    }
    return false;
}

bool KeeperProcess::take_memory(ReceivedMessage& received) {
    const auto device = offload::PciAddress::parse(received.message.called());
    if (received.descriptors.empty() || !device || control_) return false;
    void* mapped = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        received.descriptors[0].get(), static_cast<off_t>(received.message.offset));
    if (mapped == MAP_FAILED) return false;
    control_ = mapped;
    memory_ = std::move(received.descriptors);
    memory_device_ = *device;
    patience_ms_ = received.message.patience_ms;
    return true;
}

void KeeperProcess::hear_events() {
    bool removed = false;
    std::array<char, 8192> message;
    while (true) {
        const ssize_t got = recv(events_.get(), message.data(), message.size(), MSG_DONTWAIT);
        if (got < 0 && errno == ENOBUFS) {
            // Events were lost, that of the memory's removal perhaps.
            const std::string path =
                memory_device_ ? "/sys/bus/pci/devices/" + memory_device_->to_string() : "/sys";
            removed = removed || access(path.c_str(), F_OK) != 0;
            continue;
        }
        if (got <= 0) break;
        const auto function = offload::removed_function({message.data(), static_cast<size_t>(got)});
        removed = removed || (function && memory_device_ && *function == *memory_device_);
    }
    if (!removed || !control_) return;
    (void)let_go("the memory's device has gone");
    ended_ = !daemon_lives();
}

void KeeperProcess::hear_signal() {
    signalfd_siginfo which{};
    if (read(signals_.get(), &which, sizeof which) != sizeof which || daemon_lives()) return;
    (void)let_go("SIGTERM");
    ended_ = true;
}

void KeeperProcess::hear_others() {
    const Fd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client || !may_ask(client.get())) return;
    constexpr timeval at_most{1, 0};  // whoever says nothing keeps nobody waiting
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &at_most, sizeof at_most);
    const auto received = receive_for_keeper(client.get());
    if (!received || received->message.what != KeeperMessage::What::let_go) return;
    KeeperReply reply;
    if (!daemon_lives()) {
        reply = {1, let_go("the next daemon, or whoever takes its data path down, asks for them")};
        ended_ = true;
    }
    [[maybe_unused]] const auto sent = send(client.get(), &reply, sizeof reply, MSG_NOSIGNAL);
}

// The kernel waits, for as long as it takes, until nobody has the NIC open.
void KeeperProcess::hear_removals() {
    for (const auto& [name, device] : devices_)
        if (is_readable(device.descriptors[1].get())) {
            (void)let_go("the kernel wants a NIC back");
            ended_ = true;
            return;
        }
}

unsigned KeeperProcess::let_go(const char* why) {
    const auto count = static_cast<unsigned>(devices_.size());
    say(std::string(why) + ": programs are revoked, " + std::to_string(count) + " NICs let go");
    revoke();
    for (const auto& [name, device] : devices_)
        end_bus_mastering(device.descriptors[0].get(), device.config_space);
    devices_.clear();
    if (control_) munmap(control_, page_bytes);
    control_ = nullptr;
    memory_.clear();
    return count;
}

void KeeperProcess::revoke() {
    if (!control_) return;
    auto& control = *static_cast<offload::PeerControl*>(control_);
    offload::store_shared(control.generation, uint64_t{0});
    const uint64_t before = offload::load_shared(control.turns);
    const uint64_t end = monotonic_nanoseconds() + uint64_t{patience_ms_} * 1'000'000;
    constexpr timespec moment{0, 200'000};
    while (offload::load_shared(control.turns) == before && monotonic_nanoseconds() < end)
        nanosleep(&moment, nullptr);
}

}  // namespace pktpit::router
