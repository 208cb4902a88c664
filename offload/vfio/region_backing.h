// SPDX-License-Identifier: BSD-3-Clause
/// Payload memory that is a BAR of a device at vfio-pci. Control plane; one thread.
#pragma once

#include "offload/memory/backing.h"
#include "offload/vfio/device.h"

namespace pktpit::offload {

/// `device` must outlive what is mapped. Errors: no such BAR, or one that cannot be mapped.
Result<Backing> open_region_backing(const MemorySource& source, const PciTree& tree, VfioDevice& device);

}  // namespace pktpit::offload
