// SPDX-License-Identifier: BSD-3-Clause
/// A port of the vfio dataplane: the NIC behind VFIO, its driver, its rings in main memory, its tap. Opening
/// takes the NIC from its kernel driver and resets it; it receives nothing before start(). The daemon's
/// thread, with the worker paused where it says so.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "offload/pci/path.h"
#include "offload/vfio/device.h"
#include "router/dataplane/tap_port.h"
#include "router/loop/worker.h"
#include "router/vfio/slot_memory.h"

namespace pktpit::router {

class NicPort : public TapPort {
  public:
    /// Errors: no such device, one without a driver here, VFIO's, the NIC does not come up, the tap's.
    static Result<std::unique_ptr<NicPort>> open(const config::Interface& interface,
                                                 const offload::PciTree& tree,
                                                 offload::VfioContainers& containers);

    /// Lets the NIC receive and send. `rings`: memory for them that it reaches.
    Result<void> start(const config::Vfio& settings, config::Polling polling, SlotMemory::Shared memory);
    /// The same with rings that somebody else keeps, and fills: a peer device.
    Result<void> start_in(const config::Vfio& settings, offload::DmaBuffer place);
    [[nodiscard]] size_t ring_bytes(const config::Vfio& settings) const;
    /// Ends it; the NIC does no DMA any more. Appends the slots that were in its rings. Worker paused.
    void stop(std::vector<offload::Slot>& left);

    const offload::PciAddress address;
    const uint32_t mtu;
    bool direct = false;  ///< reaches the payload memory by P2P
    uint8_t part = 0;     ///< of the slots, that its IOMMU domain may write
    std::string why;      ///< where its payloads wait, and why there
    [[nodiscard]] uint8_t region() const {
        return direct ? SlotMemory::peer_memory : SlotMemory::main_memory;
    }
    std::unique_ptr<offload::VfioDevice> device;
    std::unique_ptr<offload::Nic> nic;
    Fd interrupt;  ///< eventfd
    Fd removal;    ///< eventfd: the kernel wants the device back
    SlotMemory::Shared rings;
    std::atomic<bool> link_up = false;
    std::atomic<bool> out_of_step = false;  ///< the worker says: to be reset
    uint64_t resets = 0;                    ///< for that

  private:
    NicPort(const config::Interface& interface, offload::PciAddress pci, Tap port_tap);
    [[nodiscard]] offload::NicLayout layout(const config::Vfio& settings) const;
};

}  // namespace pktpit::router
