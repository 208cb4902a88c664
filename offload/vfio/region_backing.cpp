// SPDX-License-Identifier: BSD-3-Clause
#include "offload/vfio/region_backing.h"

#include <fcntl.h>

#include <cerrno>

#include "base/errno_text.h"

namespace pktpit::offload {

Result<Backing> open_region_backing(const MemorySource& source, const PciTree& tree, VfioDevice& device) {
    const std::string where = source.device.to_string();
    const PciFunction* function = tree.find(source.device);
    const PciBar* bar = function ? function->bar(source.bar) : nullptr;
    auto region = device.region(source.bar);
    if (!region) return tl::unexpected(region.error());
    if (!bar || !bar->memory || !region->mappable || region->bytes == 0)
        return fail(where, "BAR " + std::to_string(source.bar) + " is no memory BAR that can be mapped",
                    "a memory BAR of the device", "`pktpit doctor` lists candidates");
    const uint64_t bytes = source.bytes ? source.bytes : region->bytes;
    if (bytes > region->bytes)
        return fail(
            where,
            "BAR " + std::to_string(source.bar) + " has " + std::to_string(region->bytes >> 20) + " MiB",
            "at least " + std::to_string(bytes >> 20) + " MiB", "a smaller size_mib");
    if (auto enabled = device.enable_memory(); !enabled) return tl::unexpected(enabled.error());
    Backing backing;
    backing.file = Fd(fcntl(device.descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!backing.file)
        return fail(where, "no file descriptor is left: " + errno_text(errno), "", "ulimit -n");
    backing.offset = region->offset;
    backing.bytes = bytes;
    backing.bus_address = bar->start;
    return backing;
}

}  // namespace pktpit::offload
