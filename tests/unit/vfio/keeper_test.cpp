// SPDX-License-Identifier: BSD-3-Clause
// The keeper, over files that stand for devices and their memory: what it holds, when it lets go, and in
// which order.
#include "router/vfio/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "offload/peer_ops/device_memory.h"
#include "router/vfio/keeper_process.h"
#include "tests/until.h"

namespace pktpit::router::test {
namespace {

using What = KeeperMessage::What;
using namespace std::chrono_literals;

constexpr uint64_t config_space = 0x100;
constexpr uint16_t running = PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY;
using pktpit::test::patience;

std::pair<Fd, Fd> connected(int type) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
    return {Fd(ends[0]), Fd(ends[1])};
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

/// A socket that a keeper could listen at.
Fd bound_to(const std::string& path) {
    const sockaddr_un address = address_of(path);
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
}

/// A file for a NIC; whoever has it open is seen by a pipe's end.
struct KeptNic {
    KeptNic() : file(memfd_create("nic", MFD_CLOEXEC)), removal(eventfd(0, EFD_CLOEXEC)) {
        EXPECT_EQ(pwrite(file.get(), &running, sizeof running, config_space + PCI_COMMAND), 2);
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        closed = Fd(ends[0]);
        open_end = Fd(ends[1]);
    }
    [[nodiscard]] uint16_t command() const {
        uint16_t value = 0;
        EXPECT_EQ(pread(file.get(), &value, sizeof value, config_space + PCI_COMMAND), 2);
        return value;
    }
    /// The kernel wants it back.
    void ask_for_it() const {
        const uint64_t one = 1;
        EXPECT_EQ(write(removal.get(), &one, sizeof one), 8);
    }
    /// Nobody but the keeper has it open from here on.
    void let_go() { open_end.reset(); }
    [[nodiscard]] bool is_closed(std::chrono::milliseconds within = patience) const {
        return pktpit::test::readable(closed.get(), within);
    }
    Fd file, removal, closed, open_end;
};

class Keepers : public testing::Test {
  protected:
    Keepers() {
        auto [ours, its] = connected(SOCK_SEQPACKET);
        link = std::move(ours);
        auto [said, heard] = connected(SOCK_DGRAM);
        kernel = std::move(said);
        int signal_ends[2];
        EXPECT_EQ(pipe2(signal_ends, O_CLOEXEC | O_NONBLOCK), 0);
        signals = Fd(signal_ends[1]);
        memory = Fd(memfd_create("memory", MFD_CLOEXEC));
        EXPECT_EQ(ftruncate(memory.get(), 8192), 0);
        control = static_cast<offload::PeerControl*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 4096));
        control->generation = 7;
        path = std::filesystem::temp_directory_path() / ("pktpit-keeper-" + std::to_string(getpid()));
        std::filesystem::remove(path);
        thread = std::thread([link = std::move(its), signal = Fd(signal_ends[0]), this]() mutable {
            KeeperProcess(std::move(link), std::move(signal)).run();
            ended = true;
        });
        const int events = heard.get();
        EXPECT_TRUE(ask({What::events, {}}, {events}));
        EXPECT_TRUE(ask({What::memory, "0000:07:00.0", 4096, 300}, {memory.get()}));
        EXPECT_TRUE(ask({What::listen, {}}, {bound_to(path).get()}));
        EXPECT_TRUE(keep(nic, "p0"));
    }
    ~Keepers() override {
        ask_device_to_end = true;
        if (device.joinable()) device.join();
        (void)ask({What::drop, "p0"}, {});
        (void)ask({What::drop, "p1"}, {});
        link.reset();
        if (!ended) (void)end_keeper(path, patience);
        thread.join();
        std::filesystem::remove(path);
        munmap(control, 4096);
    }

    bool ask(const KeeperMessage& message, std::vector<int> descriptors) {
        KeeperReply reply;
        return link && send_to_keeper(link.get(), message, descriptors) &&
               recv(link.get(), &reply, sizeof reply, 0) == sizeof reply && reply.done != 0;
    }
    bool keep(KeptNic& kept, const char* name) {
        const bool done = ask({What::device, name, config_space},
                              {kept.file.get(), kept.removal.get(), kept.open_end.get()});
        kept.let_go();
        return done;
    }
    /// A peer device that makes turns, and notes what the NIC's command was when the turn ended in which its
    /// programs were revoked.
    void turn() {
        device = std::thread([this] {
            while (!ask_device_to_end) {
                std::this_thread::sleep_for(1ms);
                if (offload::load_shared(control->generation) == 0 && command_at_revocation == 0)
                    command_at_revocation = nic.command();
                offload::store_shared(control->turns, control->turns + 1);
            }
        });
    }
    void kill_daemon() { link.reset(); }
    void signal_keeper() const {
        const signalfd_siginfo term{};
        EXPECT_EQ(write(signals.get(), &term, sizeof term), static_cast<ssize_t>(sizeof term));
    }
    void tell(const std::string& device_path) const {
        std::string event = "remove@/devices/pci0000:00/" + device_path;
        event += '\0';
        event += "SUBSYSTEM=pci";
        event += '\0';
        EXPECT_EQ(send(kernel.get(), event.data(), event.size(), 0), static_cast<ssize_t>(event.size()));
    }
    [[nodiscard]] bool has_ended() const {
        return pktpit::test::until([this] { return ended.load(); });
    }
    void expect_kept() const {
        EXPECT_FALSE(nic.is_closed(50ms));
        EXPECT_EQ(nic.command(), running);
        EXPECT_EQ(offload::load_shared(control->generation), 7U);
    }
    void expect_let_go() {
        EXPECT_TRUE(nic.is_closed());
        EXPECT_EQ(nic.command(), PCI_COMMAND_MEMORY);
        EXPECT_EQ(offload::load_shared(control->generation), 0U);
    }

    KeptNic nic;
    Fd link, kernel, signals, memory;
    offload::PeerControl* control = nullptr;
    std::string path;
    std::thread thread, device;
    std::atomic<bool> ended = false, ask_device_to_end = false;
    std::atomic<uint16_t> command_at_revocation = 0;
};

TEST_F(Keepers, EndsWithADaemonThatEndsInOrder) {
    EXPECT_TRUE(ask({What::drop, "p0"}, {}));
    EXPECT_TRUE(nic.is_closed()) << "before the answer";
    EXPECT_EQ(nic.command(), running) << "which is its daemon's business";
    kill_daemon();
    EXPECT_TRUE(has_ended());
    EXPECT_EQ(control->generation, 7U);
}

TEST_F(Keepers, LetsGoWhenTheNextDaemonAsksProgramsFirst) {
    KeptNic other;
    EXPECT_TRUE(keep(other, "p1"));
    turn();
    kill_daemon();
    const auto devices = end_keeper(path, patience);
    ASSERT_TRUE(devices) << devices.error().to_string();
    EXPECT_EQ(*devices, 2U);
    EXPECT_TRUE(nic.is_closed(0ms)) << "before the answer";
    EXPECT_TRUE(other.is_closed(0ms));
    expect_let_go();
    EXPECT_EQ(command_at_revocation, running) << "NICs are stopped when the device is through";
    EXPECT_TRUE(has_ended());
}

TEST_F(Keepers, ADeviceThatStandsStillIsWaitedForForItsPatienceAlone) {
    kill_daemon();
    const auto devices = end_keeper(path, 50ms);
    ASSERT_TRUE(devices) << devices.error().to_string();
    expect_let_go();
}

TEST_F(Keepers, WhileTheDaemonLivesNobodyElseHasASay) {
    const auto devices = end_keeper(path, 100ms);
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.error().message.find("still lives"), std::string::npos);
    signal_keeper();
    nic.ask_for_it();
    expect_kept();
}

TEST_F(Keepers, KeepsWhatADaemonThatWasKilledHadUntilSigterm) {
    kill_daemon();
    expect_kept();
    EXPECT_FALSE(ended);
    signal_keeper();
    expect_let_go();
    EXPECT_TRUE(has_ended());
}

TEST_F(Keepers, LetsGoWhenTheKernelWantsANicBack) {
    kill_daemon();
    nic.ask_for_it();
    expect_let_go();
    EXPECT_TRUE(has_ended());
}

TEST_F(Keepers, LetsGoWhenTheMemoryIsRemovedAndOfNoOthersRemoval) {
    kill_daemon();
    tell("0000:00:01.0/0000:08:00.0");
    expect_kept();
    tell("0000:00:01.0/0000:07:00.0");
    expect_let_go();
    EXPECT_TRUE(has_ended());
}

TEST_F(Keepers, LetsGoOfAMemoryThatIsRemovedWhileTheDaemonStandsStill) {
    turn();
    tell("0000:00:01.0/0000:07:00.0");
    expect_let_go();
    EXPECT_FALSE(ended) << "the daemon may go on";
    EXPECT_TRUE(ask({What::drop, "p0"}, {})) << "and is answered";
    kill_daemon();
    EXPECT_TRUE(has_ended());
}

TEST_F(Keepers, WhatIsNoMessageIsRefused) {
    EXPECT_FALSE(ask({What::device, "p1"}, {nic.file.get()})) << "no eventfd";
    EXPECT_FALSE(ask({What::memory, "0000:07:00.0"}, {memory.get()})) << "there is one";
    EXPECT_FALSE(ask({What::listen, {}}, {nic.file.get()})) << "no socket";
    EXPECT_FALSE(ask({What::let_go, {}}, {})) << "of its daemon's it drops one at a time";
    expect_kept();
}

TEST_F(Keepers, AClientThatSaysNothingOrNonsenseChangesNothing) {
    kill_daemon();
    const sockaddr_un address = address_of(path);
    const auto client = [&] {
        Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return socket;
    };
    const Fd silent = client(), talkative = client();
    EXPECT_EQ(send(talkative.get(), "nonsense", 8, 0), 8);
    EXPECT_TRUE(pktpit::test::readable(talkative.get())) << "it was sent away";
    expect_kept();
}

// The daemon's side: a keeper that keeps nothing is asked by nobody, one that keeps a device by the next
// daemon.
TEST(KeeperSockets, TheDaemonRemovesThatOfAKeeperThatKeepsNothing) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("pktpit-kept-" + std::to_string(getpid()));
    for (const bool dropped : {true, false}) {
        auto [daemons, keepers] = connected(SOCK_SEQPACKET);
        int ends[2];
        ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
        const Fd signals(ends[1]);
        std::thread process([link = std::move(keepers), signal = Fd(ends[0])]() mutable {
            KeeperProcess(std::move(link), std::move(signal)).run();
        });
        std::ofstream(path) << "a socket";
        KeptNic nic;
        {
            Keeper keeper({std::move(daemons)}, path);
            const std::array<int, 3> all{nic.file.get(), nic.removal.get(), nic.open_end.get()};
            keeper.keep("p0", config_space, all);
            nic.let_go();
            EXPECT_FALSE(nic.is_closed(50ms));
            if (dropped) keeper.drop("p0");
            EXPECT_EQ(nic.is_closed(dropped ? patience : 50ms), dropped);
        }
        EXPECT_EQ(std::filesystem::exists(path), !dropped);
        nic.ask_for_it();
        process.join();
    }
    std::filesystem::remove(path);
}

TEST(KeeperSockets, WhereNobodyKeepsNothingIsLetGo) {
    const auto devices = end_keeper("/nonexistent/keeper", 100ms);
    ASSERT_TRUE(devices);
    EXPECT_EQ(*devices, 0U);
}

TEST(KeeperSockets, OneThatDoesNotAnswerIsNamed) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("pktpit-silent-" + std::to_string(getpid()));
    const Fd socket = bound_to(path);
    ASSERT_EQ(listen(socket.get(), 1), 0);
    const auto devices = end_keeper(path, 50ms, 50ms);
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.error().hint.find("kill -9 " + std::to_string(getpid())), std::string::npos);
    std::filesystem::remove(path);
    const auto gone = end_keeper(path, 50ms);
    EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace pktpit::router::test
