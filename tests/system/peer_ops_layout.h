// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What peer_ops.bpf.c and its test share: a program's bytes as offload/peer_ops/codec.h writes them, and the
 * bus addresses that it may name. Plain C. */
#pragma once

#include <linux/types.h>

enum {
    PO_OPERATIONS = 64,
    PO_MEMORY = 1 << 20, /* bytes of the memory that stands for the bus, from PO_BUS on */
    PO_MOST_FRAME = 2048,
    PO_FRONT = 64, /* room in front of a frame: PO_FRONT_BUS to its first byte */
    PO_MIRROR = 0, /* programs: at ingress, and at the egress of copies */
    PO_PUSH = 1,
};
#define PO_BUS 0x40000000ULL
#define PO_FRONT_BUS 0x80000000ULL

struct po_operation {
    __u8 opcode, operand, flags, zero;
    __u32 bytes;
    __u64 address, value;
    __u32 stride, mask;
};

struct po_header {
    __u32 magic;
    __u16 version, operations;
    __u64 generation;
    __u16 egress, commit_at;
    __u32 zero;
};

struct po_program {
    __u64 sequence;   /* packets so far, of this CPU */
    __u64 generation; /* the present one: older programs are not executed */
    __u64 executed, refused;
    struct po_header header;
    struct po_operation operations[PO_OPERATIONS];
};
