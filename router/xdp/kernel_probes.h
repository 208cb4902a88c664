// SPDX-License-Identifier: BSD-3-Clause
/// Whether a part of the kernel is here: the probes of kernel_support.h's table, a function each. They try
/// the thing itself and let it go at once: maps and programs are made and closed, none is attached.
///
/// Any thread; with its rights, in its network namespace. A refusal for want of rights is Presence::unknown.
#pragma once

#include "router/xdp/kernel_support.h"

namespace pktpit::router::probes {

ProbeResult bpf();
/// Those of the unit (docs/security.md); of this thread.
ProbeResult capabilities();
ProbeResult bpf_file_system();
ProbeResult xdp_frags();
ProbeResult xdp_load_bytes();
ProbeResult ring_buffers();
ProbeResult mmapable_maps();
ProbeResult bounded_loops();
ProbeResult devmap_programs();
ProbeResult af_xdp();
/// Are programs compiled?
ProbeResult jit();
/// … and as they are, without its constants being blinded?
ProbeResult jit_unhardened();
ProbeResult redirect_targets();
/// Tried with each device until one's driver can tell VLAN tags.
ProbeResult vlan_tags();
ProbeResult tcx();
ProbeResult transmit_budget();
ProbeResult locked_memory();
/// Loaded, built in, or a module that could be loaded.
ProbeResult vlan_devices();
ProbeResult vrf_devices();

}  // namespace pktpit::router::probes
