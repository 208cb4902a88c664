// SPDX-License-Identifier: BSD-3-Clause
/// The daemon's side of its keeper (router/vfio/keeper_process.h): what it is to hold, and what no longer.
/// Each call returns when the keeper has done it: a device that it still held would not be reset when the
/// daemon closes it, and the kernel would wait for it. A keeper that does not answer is killed for that
/// reason, and one that has gone is told; the daemon goes on without. The daemon's thread.
#pragma once

#include <set>
#include <span>
#include <string>

#include "offload/memory/peer_memory.h"
#include "offload/vfio/device.h"
#include "router/dataplane/keeper_link.h"
#include "router/vfio/device_events.h"

namespace pktpit::router {

/// Has the keeper of an earlier daemon of the instance, if there is one, let go of everything.
Result<void> end_earlier_keeper(const std::string& instance);

class Keeper {
  public:
    /// `path`: where others ask it to let go of everything.
    Keeper(KeeperLink link, std::string path) : link_(std::move(link)), path_(std::move(path)) {}
    /// A keeper that keeps nothing ends with it.
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /// Before the first device. `beside`: what else the memory needs to stay (its device's container).
    void begin(const DeviceEvents& events, const offload::PeerMemory& memory, std::span<const int> beside,
               uint32_t patience_ms);
    /// A device whose NIC runs. `removal`: readable when the kernel wants it back.
    void keep(const std::string& port, const offload::VfioDevice& device, int removal);
    /// `descriptors`: the device's, that of its removal, then what else it needs. `config_space`: its offset
    /// in the first.
    void keep(const std::string& port, Result<uint64_t> config_space, std::span<const int> descriptors);
    /// Before the device is closed. Nothing happens if it is not kept.
    void drop(const std::string& port);

    /// Readable when look() has something to see; -1: there is no keeper.
    [[nodiscard]] int descriptor() const { return link_.socket.get(); }
    /// Notices that the keeper has gone.
    void look();
    [[nodiscard]] bool lives() const { return static_cast<bool>(link_.socket); }

  private:
    [[nodiscard]] bool ask(const KeeperMessage& message, std::span<const int> descriptors);
    [[nodiscard]] bool listen();
    void gone(const std::string& why);
    void wait_for_end();

    KeeperLink link_;
    std::string path_;
    std::set<std::string> kept_;
};

}  // namespace pktpit::router
