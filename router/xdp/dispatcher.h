// SPDX-License-Identifier: BSD-3-Clause
/// Attachment through libxdp's dispatcher, for devices that other XDP programs share (/xdp/dispatcher in the
/// configuration). The dispatcher needs freplace programs; where the kernel refuses those, the caller goes on
/// with a plain BPF link. One thread.
///
/// A dispatcher outlives the daemon by its own pins. It has no atomic swap of one program: a successor is
/// added before the predecessor goes, so that every packet meets at least one of the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "router/xdp/maps.h"
#include "router/xdp/port_link.h"

namespace pktpit::router {

struct DispatchedPort {
    uint32_t program_id = 0;
    AttachMode mode = AttachMode::native;
};

/// Adds the port stage to the device's dispatcher, which is made if need be. An Error says why there is none.
Result<DispatchedPort> dispatch_port(const PortMaps& maps, const pp_fib_geometry& geometry,
                                     const PortProgram& program, uint32_t ifindex, const std::string& device,
                                     config::XdpMode mode);

/// Port stages that the device's dispatcher runs, oldest first.
std::vector<uint32_t> dispatched_port_stages(uint32_t ifindex);

/// Takes one program out of the device's dispatcher.
void undispatch(uint32_t ifindex, uint32_t program_id);

}  // namespace pktpit::router
