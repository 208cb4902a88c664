// SPDX-License-Identifier: BSD-3-Clause
/// A machine's PCI functions and what hangs below what. Made once from a snapshot, immutable afterwards; any
/// thread. Nothing of the snapshot is trusted: a function whose bridges are missing, or hang below
/// themselves, counts as on its root bus.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "offload/pci/function.h"
#include "offload/pci/snapshot.h"

namespace pktpit::offload {

class PciTree {
  public:
    PciTree() = default;
    explicit PciTree(const PciSnapshot& snapshot);
    /// This machine's. Errors: read_snapshot()'s.
    static Result<PciTree> live(const std::string& sysfs = "/sys");

    /// Null where there is none.
    [[nodiscard]] const PciFunction* find(PciAddress address) const;
    /// The bridges above, from the nearest to the root port; empty on a root bus.
    [[nodiscard]] std::vector<const PciFunction*> ancestors(const PciFunction& function) const;
    /// All functions, ascending.
    [[nodiscard]] std::vector<const PciFunction*> functions() const;
    /// Those on the root bus of a host bridge ("pci0000:00"), ascending.
    [[nodiscard]] std::vector<const PciFunction*> on_root_bus(const std::string& host_bridge) const;
    [[nodiscard]] std::vector<std::string> host_bridges() const;
    /// All members of an IOMMU group, ascending.
    [[nodiscard]] std::vector<const PciFunction*> in_group(unsigned iommu_group) const;
    [[nodiscard]] bool has_iommu() const;

    [[nodiscard]] size_t size() const { return functions_.size(); }
    [[nodiscard]] bool empty() const { return functions_.empty(); }
    /// Functions of the snapshot whose address is not one of ours (a domain above ffff, as behind Intel VMD).
    [[nodiscard]] size_t left_out() const { return left_out_; }

  private:
    void cut_loops();

    std::map<PciAddress, PciFunction> functions_;
    size_t left_out_ = 0;
};

}  // namespace pktpit::offload
