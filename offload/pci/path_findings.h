// SPDX-License-Identifier: BSD-3-Clause
/// The parts that find_path() puts its findings together from. Internal to offload/pci.
#pragma once

#include "offload/pci/path.h"
#include "offload/pci/path_links.h"

namespace pktpit::offload {

/// ACS and what kind of way it is. `gate`: the function whose ACS decides about requests; `far_gate`: that of
/// the answers.
void add_way_findings(PciPath& path, const PciFunction& gate, const PciFunction& far_gate, bool blocked);
void add_iommu_findings(const PciTree& tree, PciPath& path, const PciFunction& from);
/// Conventional PCI, bridges that do not pass requests up, configuration space that could not be read.
void add_bridge_findings(const PciTree& tree, PciPath& path);
/// Links that are slower or narrower than both their ends can.
void add_link_findings(const PciTree& tree, PciPath& path);
/// Max_Payload_Size and Max_Read_Request_Size.
void add_payload_findings(const PciTree& tree, PciPath& path);

}  // namespace pktpit::offload
