// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "offload/model/profile.h"

namespace pktpit::model {
namespace {

constexpr std::array rules = {
    ConstantRule{"completion.at_boundary", 0, 1, true,
                 "1: completions are cut at every read completion boundary; 0: at Max_Payload_Size"},
    ConstantRule{"cpu.burst", 1, 512, true, "packets that the CPU takes at once"},
    ConstantRule{"cpu.burst_ns", 0, 1e6, false, "CPU time for each burst"},
    ConstantRule{"cpu.compile_ns", 0, 1e6, false, "CPU time for a peer program, peer operations"},
    ConstantRule{"cpu.cores", 1, 64, true, "cores that forward"},
    ConstantRule{"cpu.misses_at_once", 1, 64, false, "cache lines that a core waits for at once"},
    ConstantRule{"cpu.packet_ns", 0, 1e6, false, "CPU time for each packet, l3fwd"},
    ConstantRule{"cpu.poll_ns", 0, 1e6, false, "until a core that waits sees what has come"},
    ConstantRule{"cpu.slice_packet_ns", 0, 1e6, false, "CPU time for each header slice, pktpit"},
    ConstantRule{"cpu.wake_ns", 0, 1e6, false, "from an interrupt to the control loop, peer operations"},
    ConstantRule{"device.read_latency_ns", 0, 1e6, false, "a device's answer to a read of its BAR"},
    ConstantRule{"dma.read_issue_ns", 0, 1e6, false, "between the starts of two reads"},
    ConstantRule{"dma.tags", 1, 1024, true, "read TLPs outstanding"},
    ConstantRule{"dma.write_issue_ns", 0, 1e6, false, "between the starts of two writes"},
    ConstantRule{"iommu.entries", 1, 1 << 20, true, "IOTLB entries"},
    ConstantRule{"iommu.hit_ns", 0, 1e6, false, "translation found in the IOTLB"},
    ConstantRule{"iommu.page_bytes", 4096, 1 << 30, true, "page size of the translation"},
    ConstantRule{"iommu.walk_ns", 0, 1e6, false, "a page walk"},
    ConstantRule{"iommu.walkers", 1, 64, true, "page walks at once"},
    ConstantRule{"link.completion_data", 64, 65535, true,
                 "credits of 16 bytes that a switch port advertises"},
    ConstantRule{"link.completion_headers", 1, 65535, true, "credits that a switch port advertises"},
    ConstantRule{"link.credit_latency_ns", 0, 1e6, false, "until a freed buffer is known at the other end"},
    ConstantRule{"link.non_posted_headers", 1, 65535, true, "credits"},
    ConstantRule{"link.posted_data", 256, 65535, true, "credits of 16 bytes"},
    ConstantRule{"link.posted_headers", 1, 65535, true, "credits"},
    ConstantRule{"link.propagation_ns", 0, 1e6, false, "one way"},
    ConstantRule{"llc.io_ways", 1, 32, true, "ways that devices' writes may be allocated in"},
    ConstantRule{"llc.load_gbytes", 0.01, 1e4, false,
                 "GB/s that a full load of loads or stores brings into the cache"},
    ConstantRule{"llc.mib", 0, 4096, false, "last-level cache, MiB; 0: none is modelled"},
    ConstantRule{"llc.read_latency_ns", 0, 1e6, false, "device reads of what is in the cache"},
    ConstantRule{"llc.ways", 1, 32, true, "ways of the last-level cache"},
    ConstantRule{"memory.partial_line_cost", 1, 4, false,
                 "device writes: whole lines that a line written in part costs"},
    ConstantRule{"memory.read_by_read_load", 0, 0.99, false,
                 "share of device reads' bandwidth that a full read load takes"},
    ConstantRule{"memory.read_by_write_load", 0, 0.99, false,
                 "share of device reads' bandwidth that a full write load takes"},
    ConstantRule{"memory.read_gbytes", 0.01, 1e4, false, "device reads, GB/s, memory otherwise idle"},
    ConstantRule{"memory.read_latency_ns", 0, 1e6, false, "of main memory"},
    ConstantRule{"memory.write_by_read_load", 0, 0.99, false,
                 "share of device writes' bandwidth that a full read load takes"},
    ConstantRule{"memory.write_by_write_load", 0, 0.99, false,
                 "share of device writes' bandwidth that a full write load takes"},
    ConstantRule{"memory.write_gbytes", 0.01, 1e4, false, "device writes, GB/s, memory otherwise idle"},
    ConstantRule{"memory.write_latency_ns", 0, 1e6, false, "until the CPU can see it"},
    ConstantRule{"nic.answer_ns", 0, 1e6, false, "firmware, for an egress descriptor from the CPU"},
    ConstantRule{"nic.commit_wait_ns", 0, 1e6, false,
                 "longest wait for a full batch, peer operations, economy"},
    ConstantRule{"nic.credit_batch", 1, 64, true, "ring entries given back at once; a power of two"},
    ConstantRule{"nic.descriptor_batch", 1, 8, true,
                 "descriptors that firmware writes at once where they wait for the link anyway"},
    ConstantRule{"nic.descriptor_fetch", 1, 64, true, "descriptors read at once"},
    ConstantRule{"nic.egress_ns", 0, 1e6, false, "firmware, for a descriptor from another NIC"},
    ConstantRule{"nic.fib_kib", 4, 262144, true,
                 "memory for the nodes of a FIB on the NIC, KiB; a power of two"},
    ConstantRule{"nic.head_batch", 1, 256, true, "frames sent until the CPU is told, l3fwd"},
    ConstantRule{"nic.ingress_ns", 0, 1e6, false, "firmware, for parsing and the lookup, p2pnic"},
    ConstantRule{"nic.operation_ns", 0, 1e6, false, "of the engine, for each peer operation"},
    ConstantRule{"nic.receive_latency_ns", 0, 1e6, false, "from a frame's last bit to firmware"},
    ConstantRule{"nic.slice_ns", 0, 1e6, false, "firmware, for slicing the header off, pktpit"},
    ConstantRule{"nic.slots", 64, 16384, true, "frames that packet memory holds; a power of two"},
    ConstantRule{"nic.threads", 1, 4096, true, "threads that run firmware"},
    ConstantRule{"nic.transmit_latency_ns", 0, 1e6, false, "from firmware to a frame's first bit"},
    ConstantRule{"nic.window", 64, 4096, true, "landing slots for each other NIC; a power of two"},
    ConstantRule{"nic.writeback_batch", 1, 32, true,
                 "l3fwd: receive descriptors that make up a line and are written back at once"},
    ConstantRule{"nic.writeback_wait_ns", 0, 1e7, false,
                 "l3fwd: longest a received frame waits for its line of descriptors to fill"},
    ConstantRule{"root.latency_ns", 0, 1e6, false, "root complex, each TLP that passes or ends there"},
    ConstantRule{"root.peer_reads", 1, 1024, true, "pieces of split peer reads outstanding"},
    ConstantRule{"root.peer_split_bytes", 0, 4096, true,
                 "pieces that peer requests are cut into; 0: not cut; a power of two"},
    ConstantRule{"switch.latency_ns", 0, 1e6, false, "switch chip, first bit in to first bit out"},
};

}  // namespace

std::span<const ConstantRule> constant_rules() {
    return rules;
}

}  // namespace pktpit::model
