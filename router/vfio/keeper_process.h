// SPDX-License-Identifier: BSD-3-Clause
/// The keeper: a process of its own that holds descriptors of the NICs and of the memory that a peer device
/// forwards by, so that the kernel neither resets the NICs nor forgets the IOMMU's mappings when the daemon
/// is killed. It drives nothing and looks at no packet. It ends with a daemon that ends in order; of one that
/// was killed it lets everything go, in order, when the next one asks for it, on SIGTERM, when the memory's
/// device is removed or when the kernel wants a NIC back. The memory's removal it acts on while the daemon
/// lives, too, which may stand still.
///
/// In order: the peer's programs are revoked (generation 0) and a turn of the device's is waited for; NICs
/// may master the bus no more; their descriptors are closed, which resets them; then the memory's.
///
/// One thread, which run() does not leave before the keeper's end. Opens no file and starts no process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "offload/pci/address.h"
#include "router/dataplane/keeper_link.h"

namespace pktpit::router {

class KeeperProcess {
  public:
    /// `link`: to the daemon. `signals`: readable when SIGTERM has come (signalfd).
    KeeperProcess(Fd link, Fd signals) : link_(std::move(link)), signals_(std::move(signals)) {}
    ~KeeperProcess();
    KeeperProcess(const KeeperProcess&) = delete;
    KeeperProcess& operator=(const KeeperProcess&) = delete;

    /// Returns when there is nothing left to keep.
    void run();

  private:
    struct Device {
        std::vector<Fd> descriptors;  ///< the device's first, then the eventfd of its removal
        uint64_t config_space = 0;    ///< in the first
    };
    [[nodiscard]] bool daemon_lives() const { return static_cast<bool>(link_); }
    void hear_daemon();
    [[nodiscard]] bool take(ReceivedMessage received);
    [[nodiscard]] bool take_memory(ReceivedMessage& received);
    void hear_events();
    void hear_signal();
    void hear_others();
    void hear_removals();
    unsigned let_go(const char* why);
    void revoke();

    Fd link_;
    Fd signals_;
    Fd listener_;
    Fd events_;
    std::map<std::string, Device> devices_;
    std::vector<Fd> memory_;
    std::optional<offload::PciAddress> memory_device_;
    void* control_ = nullptr;  ///< the first page of the memory: offload::PeerControl
    uint32_t patience_ms_ = 0;
    bool ended_ = false;
};

}  // namespace pktpit::router
