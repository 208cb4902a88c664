// SPDX-License-Identifier: BSD-3-Clause
/// The port stage's eBPF object, opened and bound to shared maps but not loaded. Private to router/xdp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fib/layout.h"
#include "router/xdp/maps.h"

struct bpf_program;
struct port_stage;

namespace pktpit::router {

using Skeleton = std::unique_ptr<port_stage, void (*)(port_stage*)>;

/// `with_tags`: the object that asks drivers for VLAN tags (bpf/port_stage_tags.bpf.c).
Result<Skeleton> open_skeleton(const pp_fib_geometry& geometry, bool with_tags = false);
/// Constants set, maps shared: ready to be loaded.
Result<Skeleton> open_port_stage(const PortMaps& maps, const pp_fib_geometry& geometry,
                                 const PortProgram& program);

/// Which of the object's programs it is.
bpf_program* program_of(const port_stage& skeleton, const PortProgram& program);

/// What to do about EPERM; empty for other errors.
std::string privileges_hint(int error);

}  // namespace pktpit::router
