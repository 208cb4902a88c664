// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/port_link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include <cerrno>

#include "base/errno_text.h"
#include "router/xdp/skeleton.h"

namespace pktpit::router {
namespace {

Fd create_link(int program_fd, uint32_t ifindex, uint32_t flags) {
    LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flags);
    return Fd(bpf_link_create(program_fd, static_cast<int>(ifindex), BPF_XDP, &options));
}

std::string program_name(uint32_t id) {
    Fd program(bpf_prog_get_fd_by_id(id));
    bpf_prog_info info{};
    uint32_t length = sizeof info;
    if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &length) != 0) return "unknown";
    return info.name;
}

tl::unexpected<Error> refused(const std::string& device, uint32_t ifindex, int error, const char* mode) {
    if (error == EBUSY || error == EEXIST) {
        const uint32_t id = attached_program(ifindex).program_id;
        return fail(
            device,
            "another XDP program is attached: id " + std::to_string(id) + ", \"" + program_name(id) + "\"",
            "a device without an XDP program",
            "stop its owner (another pktpitd?), or remove it: ip link set dev " + device + " xdp off");
    }
    if (error == ENODEV) return fail(device, "no such device", "an existing Linux device", "ip link");
    return fail(
        device, std::string("the kernel refuses an XDP program in ") + mode + " mode: " + errno_text(error),
        "a driver and an MTU that XDP with frags works on",
        error == EPERM ? "run as root, or with CAP_BPF and CAP_NET_ADMIN" : "set xdp_mode to \"generic\"");
}

}  // namespace

Result<AttachedProgram> ask_attached_program(uint32_t ifindex) {
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    if (bpf_xdp_query(static_cast<int>(ifindex), 0, &query) != 0)
        return fail("device " + std::to_string(ifindex),
                    "cannot ask for its XDP program: " + errno_text(errno));
    return AttachedProgram{query.prog_id,
                           query.attach_mode == XDP_ATTACHED_SKB ? AttachMode::generic : AttachMode::native};
}

AttachedProgram attached_program(uint32_t ifindex) {
    return ask_attached_program(ifindex).value_or(AttachedProgram{});
}

uint32_t program_id(int program_fd) {
    bpf_prog_info info{};
    uint32_t length = sizeof info;
    return bpf_obj_get_info_by_fd(program_fd, &info, &length) == 0 ? info.id : 0;
}

Result<LinkTarget> link_target(int link_fd) {
    bpf_link_info info{};
    uint32_t length = sizeof info;
    if (bpf_obj_get_info_by_fd(link_fd, &info, &length) != 0)
        return fail("link", "cannot ask what it is on: " + errno_text(errno));
    if (info.type != BPF_LINK_TYPE_XDP) return fail("link", "is none of an XDP program");
    return LinkTarget{info.prog_id, info.xdp.ifindex};
}

Result<PortLink> attach_port(int program_fd, uint32_t ifindex, const std::string& device,
                             config::XdpMode mode) {
    PortLink port;
    if (mode != config::XdpMode::generic) {
        port.link = create_link(program_fd, ifindex, XDP_FLAGS_DRV_MODE);
        if (port.link) return port;
        const int error = errno;
        if (mode == config::XdpMode::native || error == EBUSY || error == EEXIST || error == ENODEV ||
            error == EPERM)
            return refused(device, ifindex, error, "native");
        port.why_generic = errno_text(error);
    }
    port.link = create_link(program_fd, ifindex, XDP_FLAGS_SKB_MODE);
    if (!port.link) return refused(device, ifindex, errno, "generic");
    port.mode = AttachMode::generic;
    return port;
}

Result<void> swap_program(int link_fd, int program_fd, const std::string& device) {
    if (bpf_link_update(link_fd, program_fd, nullptr) != 0)
        return fail(device, "cannot swap the XDP program of the pinned link: " + errno_text(errno));
    return {};
}

}  // namespace pktpit::router
