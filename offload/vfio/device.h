// SPDX-License-Identifier: BSD-3-Clause
/// A PCI device driven from user space through VFIO: its registers, its configuration space, its interrupt.
/// Opening takes it from its kernel driver; closing resets it and gives it back
/// (VfioContainers::give_back()). Registers may be used by the worker that owns the port; all else is the
/// control plane's, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "offload/memory/cpu_mapping.h"
#include "offload/nic/nic.h"
#include "offload/vfio/container.h"

namespace pktpit::offload {

class VfioDevice : public Registers {
  public:
    /// `containers` outlives it. Errors: those of DriverBinding and VfioContainer; no IOMMU group.
    static Result<std::unique_ptr<VfioDevice>> open(VfioContainers& containers, const PciFunction& function);
    ~VfioDevice() override;
    VfioDevice(const VfioDevice&) = delete;
    VfioDevice& operator=(const VfioDevice&) = delete;

    /// Maps BAR 0, for read() and write(). Errors: it is none that can be mapped.
    Result<void> map_registers();
    [[nodiscard]] uint32_t read(uint32_t offset) override;
    void write(uint32_t offset, uint32_t value) override;

    /// Whether it may send requests: DMA and MSIs. Off when opened.
    Result<void> set_bus_master(bool on);
    /// Its memory BARs answer.
    Result<void> enable_memory();
    /// Has the interrupt counted into this eventfd; -1 ends it. MSI, or INTx where it has none.
    Result<void> set_interrupt(int eventfd);
    /// The destructor leaves the device as it runs, at vfio-pci: another process has its descriptors, too.
    void leave() { left_ = true; }
    /// Signals this eventfd when the kernel wants the device back (unplugged, driver unbound).
    void on_removal_request(int eventfd);
    /// Of a BAR: offset and size to map from the device's descriptor.
    struct Region {
        uint64_t offset = 0;
        uint64_t bytes = 0;
        bool mappable = false;
    };
    Result<Region> region(uint32_t index) const;

    [[nodiscard]] int descriptor() const { return device_.get(); }
    /// Where its configuration space lies, read from and written to by its descriptor.
    [[nodiscard]] Result<uint64_t> config_space() const;
    /// What it and the other devices of its group reach. Nobody keeps it longer than the device.
    [[nodiscard]] const std::shared_ptr<VfioContainer>& container() const { return hold_.container; }
    [[nodiscard]] PciAddress address() const { return address_; }

  private:
    VfioDevice(PciAddress address, VfioContainers& containers, VfioContainers::Hold hold, Fd device)
        : address_(address), containers_(containers), hold_(std::move(hold)), device_(std::move(device)) {}
    Result<uint16_t> command() const;
    Result<void> change_command(uint16_t set, uint16_t clear);
    bool set_irq(uint32_t index, int eventfd);

    PciAddress address_;
    VfioContainers& containers_;
    VfioContainers::Hold hold_;
    Fd device_;
    CpuMapping registers_;
    bool left_ = false;
};

}  // namespace pktpit::offload
