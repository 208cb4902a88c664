// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Peer programs (offload/peer_ops) executed in XDP: a probe of what the kernel's verifier lets through, not a
 * part of the port stage. The bytes are those that a device gets; verify() has looked at them, and each
 * access is bounded here once more, since the kernel's verifier knows nothing of that.
 *
 * `mirror` at an ingress executes a program for each packet (wait for room, copy into a ring, fence,
 * doorbell) and sends the frame to all ports of a map; `push` at a port's entry there executes one on this
 * port's copy alone: a block in front. */
/* The helpers' header needs the types before it. */
/* clang-format off */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "tests/system/peer_ops_layout.h"

enum { store_dword = 1, store_qword, copy_block, fence, poll_and, poll_nor, poll_geq, doorbell };
enum { immediate, packet, sequence };

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, __u8[PP_PEER_MEMORY]);
} memory SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct pp_peer_program);
} programs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, struct bpf_devmap_val);
} ports SEC(".maps");

struct run {
    struct xdp_md* xdp;
    struct pp_peer_program* program;
    __u8* memory;
    __u64 sequence;
    __u32 first;
    __u32 length;
    __u32 stopped;
};

static long stop(struct run* run) {
    run->stopped = 1;
    return 1;
}

/* In front of the frame, so that its last byte lies before the frame's first. */
static long push_front(struct run* run, const struct pp_peer_operation* operation) {
    const __u64 from = operation->value - PP_PEER_BUS;
    const __u32 length = operation->bytes;
    if (length < 1 || length > PP_PEER_FRONT ||
        operation->address + length != PP_PEER_FRONT_BUS + PP_PEER_FRONT ||
        from > PP_PEER_MEMORY - PP_PEER_FRONT)
        return stop(run);
    if (bpf_xdp_adjust_head(run->xdp, -(int)length) ||
        bpf_xdp_store_bytes(run->xdp, 0, run->memory + from, length))
        return stop(run);
    return 0;
}

static long copy_frame(struct run* run, const struct pp_peer_operation* operation, __u8* to) {
    const __u32 length = run->length;
    if (length < 1 || length > PP_PEER_MOST_FRAME || length + 16 > operation->bytes) return stop(run);
    if (bpf_xdp_load_bytes(run->xdp, 0, to + 16, length)) return stop(run);
    *(volatile __u64*)to = operation->address + (run->sequence & operation->mask) * operation->stride + 16;
    *(volatile __u64*)(to + 8) = length;
    return 0;
}

static long step(__u32 index, struct run* run) {
    const __u32 at = index + run->first;
    if (at >= PP_PEER_OPERATIONS) return stop(run);
    const struct pp_peer_operation* operation = &run->program->operations[at];
    if (operation->opcode == fence) {
        __sync_fetch_and_add(&run->program->executed, 0);
        return 0;
    }
    if (operation->opcode == copy_block && operation->operand == immediate) return push_front(run, operation);
    const __u64 place =
        operation->address + (run->sequence & operation->mask) * operation->stride - PP_PEER_BUS;
    const __u64 value = operation->value + (operation->operand == sequence ? run->sequence : 0);
    if (place > PP_PEER_MEMORY - PP_PEER_MOST_FRAME - 16) return stop(run);
    __u8* to = run->memory + (place & ~7ULL); /* atomic operations want it aligned */
    switch (operation->opcode) {
        case store_dword:
            *(volatile __u32*)to = value;
            return 0;
        case store_qword:
            *(volatile __u64*)to = value;
            return 0;
        case doorbell:
            __sync_lock_test_and_set((__u64*)to, value);
            return 0;
        case poll_and:
            return *(volatile __u32*)to & (__u32)value ? 0 : stop(run);
        case poll_nor:
            return ~(*(volatile __u32*)to | (__u32)value) ? 0 : stop(run);
        case poll_geq:
            return (__s32)(*(volatile __u32*)to - (__u32)value) >= 0 ? 0 : stop(run);
        case copy_block:
            return copy_frame(run, operation, to);
    }
    return stop(run);
}

/* Both sections, since here a batch is one packet. */
static void execute(struct xdp_md* xdp, __u32 which) {
    const __u32 zero = 0;
    struct pp_peer_program* program = bpf_map_lookup_elem(&programs, &which);
    __u8* bytes = bpf_map_lookup_elem(&memory, &zero);
    if (!program || !bytes || program->header.generation < program->generation || program->generation == 0)
        return;
    const __u32 count = program->header.operations, commit_at = program->header.commit_at;
    if (count > PP_PEER_OPERATIONS || commit_at > count) return;
    struct run run = {xdp, program, bytes, program->sequence, 0, bpf_xdp_get_buff_len(xdp), 0};
    bpf_loop(commit_at, step, &run, 0);
    if (run.stopped) {
        program->refused++;
        return;
    }
    run.sequence = ++program->sequence;
    run.first = commit_at;
    bpf_loop(count - commit_at, step, &run, 0);
    program->executed++;
}

SEC("xdp") int mirror(struct xdp_md* xdp) {
    execute(xdp, PP_PEER_MIRROR);
    return bpf_redirect_map(&ports, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
}

SEC("xdp/devmap") int push(struct xdp_md* xdp) {
    execute(xdp, PP_PEER_PUSH);
    return XDP_PASS;
}

/* At the far ends: veth takes redirected frames only where its peer has a program. */
SEC("xdp") int pass(struct xdp_md* xdp) {
    (void)xdp;
    return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
