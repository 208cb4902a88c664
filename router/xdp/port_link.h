// SPDX-License-Identifier: BSD-3-Clause
/// The attachment of a port stage to a device: a BPF link, which the pin directory keeps alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "config/config.h"
#include "router/dataplane/dataplane.h"

namespace pktpit::router {

/// What the kernel says of a device's XDP program.
struct AttachedProgram {
    uint32_t program_id = 0;  ///< 0: none
    AttachMode mode = AttachMode::native;
};
AttachedProgram attached_program(uint32_t ifindex);
/// The same, and an Error where the kernel does not answer. A device that is not there has no program.
Result<AttachedProgram> ask_attached_program(uint32_t ifindex);

/// Its id; 0: the kernel does not say.
uint32_t program_id(int program_fd);

/// Program that a link runs, and the device it is on (0: the device is gone).
struct LinkTarget {
    uint32_t program_id = 0;
    uint32_t ifindex = 0;
};
/// Errors: not a link of XDP, or the kernel does not say.
Result<LinkTarget> link_target(int link_fd);

struct PortLink {
    Fd link;
    AttachMode mode = AttachMode::native;
    std::string why_generic;  ///< what the kernel said when it refused native mode; empty in native mode
};

/// Attaches the program. `automatic` tries native mode first and tells why it had to fall back.
/// Errors: another XDP program is there (its id and name), no such device, mode refused.
Result<PortLink> attach_port(int program_fd, uint32_t ifindex, const std::string& device,
                             config::XdpMode mode);

/// Puts another program on the link; no packet passes without one of the two.
Result<void> swap_program(int link_fd, int program_fd, const std::string& device);

}  // namespace pktpit::router
