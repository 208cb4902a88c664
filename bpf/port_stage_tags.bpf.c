/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The port stage of devices that keep VLAN tags apart from frames: bpf/metadata_tag.h. */
#define PP_ASKS_FOR_TAGS
#include "bpf/port_stage.bpf.c"
