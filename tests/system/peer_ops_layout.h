// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What peer_ops.bpf.c and its test share: a program's bytes as offload/peer_ops/codec.h writes them, and the
 * bus addresses that it may name. Plain C. */
#pragma once

#include <linux/types.h>

enum {
    PP_PEER_OPERATIONS = 64,
    PP_PEER_MEMORY = 1 << 20, /* bytes of the memory that stands for the bus, from PP_PEER_BUS on */
    PP_PEER_MOST_FRAME = 2048,
    PP_PEER_FRONT = 64, /* room in front of a frame: PP_PEER_FRONT_BUS to its first byte */
    PP_PEER_MIRROR = 0, /* programs: at ingress, and at the egress of copies */
    PP_PEER_PUSH = 1,
};
#define PP_PEER_BUS 0x40000000ULL
#define PP_PEER_FRONT_BUS 0x80000000ULL

struct pp_peer_operation {
    __u8 opcode, operand, flags, zero;
    __u32 bytes;
    __u64 address, value;
    __u32 stride, mask;
};

struct pp_peer_header {
    __u32 magic;
    __u16 version, operations;
    __u64 generation;
    __u16 egress, commit_at;
    __u32 zero;
};

struct pp_peer_program {
    __u64 sequence;   /* packets so far, of this CPU */
    __u64 generation; /* the present one: older programs are not executed */
    __u64 executed, refused;
    struct pp_peer_header header;
    struct pp_peer_operation operations[PP_PEER_OPERATIONS];
};
