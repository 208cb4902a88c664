// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/dispatcher.h"

#include <bpf/libbpf.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cstdarg>
#include <memory>

#include "port_stage.skel.h"
#include "router/xdp/skeleton.h"

namespace pktpit::router {
namespace {

const char* name_of(const PortProgram& program) {
    return program.observed ? "port_observed" : "port_stage";
}

bool is_port_stage(const std::string& name) {
    return name == "port_stage" || name == "port_observed";
}

using Program = std::unique_ptr<xdp_program, decltype(&xdp_program__close)>;
using Multiprog = std::unique_ptr<xdp_multiprog, decltype(&xdp_multiprog__close)>;

int silence(libxdp_print_level, const char*, va_list) {
    return 0;
}

std::string libxdp_text(long error) {
    char text[128];
    libxdp_strerror(static_cast<int>(error), text, sizeof text);
    return text;
}

Multiprog multiprog_of(uint32_t ifindex) {
    xdp_multiprog* found = xdp_multiprog__get_from_ifindex(static_cast<int>(ifindex));
    return {libxdp_get_error(found) ? nullptr : found, xdp_multiprog__close};
}

// libxdp makes this directory before it knows whether it can use it. Only succeeds when it is empty.
void remove_empty_pin_directory() {
    ::rmdir("/sys/fs/bpf/xdp");
}

tl::unexpected<Error> no_dispatcher(const std::string& device, const std::string& why) {
    remove_empty_pin_directory();
    return fail(device, "libxdp's dispatcher cannot be used: " + why,
                "a kernel that takes freplace programs");
}

}  // namespace

Result<DispatchedPort> dispatch_port(const PortMaps& maps, const pp_fib_geometry& geometry,
                                     const PortProgram& program, uint32_t ifindex, const std::string& device,
                                     config::XdpMode mode) {
    libxdp_set_print(silence);
    auto skeleton = open_port_stage(maps, geometry, program);
    if (!skeleton) return tl::unexpected(skeleton.error());
    DECLARE_LIBXDP_OPTS(xdp_program_opts, options);
    options.obj = (*skeleton)->obj;
    options.prog_name = name_of(program);
    xdp_program* made = xdp_program__create(&options);
    if (const long error = libxdp_get_error(made)) return no_dispatcher(device, libxdp_text(error));
    const Program loaded(made, xdp_program__close);

    const auto try_mode = [&](xdp_attach_mode attach_mode) {
        return xdp_program__attach(loaded.get(), static_cast<int>(ifindex), attach_mode, 0);
    };
    DispatchedPort dispatched;
    int error = mode == config::XdpMode::generic ? -EOPNOTSUPP : try_mode(XDP_MODE_NATIVE);
    if (error != 0 && mode != config::XdpMode::native) {
        dispatched.mode = AttachMode::generic;
        error = try_mode(XDP_MODE_SKB);
    }
    if (error != 0) return no_dispatcher(device, libxdp_text(error));

    // Where it cannot make a dispatcher, libxdp may attach the program alone, without what keeps it alive.
    const Multiprog attached = multiprog_of(ifindex);
    if (!attached || xdp_multiprog__is_legacy(attached.get())) {
        if (attached) xdp_multiprog__detach(attached.get());
        return no_dispatcher(device, "libxdp attached the program without one");
    }
    dispatched.program_id = xdp_program__id(loaded.get());
    return dispatched;
}

std::vector<uint32_t> dispatched_port_stages(uint32_t ifindex) {
    std::vector<uint32_t> ids;
    const Multiprog attached = multiprog_of(ifindex);
    if (!attached || xdp_multiprog__is_legacy(attached.get())) return ids;
    for (xdp_program* program = xdp_multiprog__next_prog(nullptr, attached.get()); program;
         program = xdp_multiprog__next_prog(program, attached.get()))
        if (is_port_stage(xdp_program__name(program))) ids.push_back(xdp_program__id(program));
    std::ranges::sort(ids);  // ids only grow
    return ids;
}

void undispatch(uint32_t ifindex, uint32_t program_id) {
    const Multiprog attached = multiprog_of(ifindex);
    xdp_program* found = xdp_program__from_id(program_id);
    if (!attached || libxdp_get_error(found)) return;
    const Program program(found, xdp_program__close);
    xdp_program__detach(program.get(), static_cast<int>(ifindex), xdp_multiprog__attach_mode(attached.get()),
                        0);
}

}  // namespace pktpit::router
