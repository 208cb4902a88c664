/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Aggregation at the port: elements that workers send to the router's own address are added where they
 * arrive, and the last worker's packet leaves as the sum (docs/aggregation.md has the protocol and why it
 * loses nothing). Called for packets that are the host's, off the common path; a program that was loaded
 * without `aggregation` has no instruction of it.
 *
 * A slot is worked on under its own lock: two queues may bring packets of one chunk at a time. Elements are
 * added two (int32) or four (bfp16) at a time in a 64-bit word, with no carry from one to the next.
 */
#ifndef PKTPIT_BPF_AGGREGATE_H
#define PKTPIT_BPF_AGGREGATE_H

#include "bpf/aggregation_abi.h"
#include "bpf/bpf_common.h"
#include "bpf/checksum.h"
#include "bpf/maps.h"

/* Set by user space before loading. */
const volatile __u32 aggregation;

/* Made by user space, in their size, where there is aggregation: else of one entry. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PP_SUM_GROUPS);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct pp_sum_group));
} sum_groups SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PP_SUM_GROUPS);
    __uint(key_size, sizeof(__u16));
    __uint(value_size, sizeof(__u32));
} sum_ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct pp_sum_slot));
} sum_slots SEC(".maps");

struct pp_sum_exits {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, PA_MAX_WORKERS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 8); /* struct bpf_devmap_val */
};
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, PP_SUM_GROUPS);
    __uint(key_size, sizeof(__u32));
    __array(values, struct pp_sum_exits);
} sum_exits SEC(".maps");

#define PP_SUM_UDP 17
/* The frame as it must be: no VLAN tag, no IPv4 options. */
struct pp_sum_frame {
    __u8 mac[6];
    __u8 router_mac[6];
    __u16 ethertype;
    __u8 version_length;
    __u8 tos;
    __u16 total_length;
    __u16 identification;
    __u16 fragment;
    __u8 ttl;
    __u8 protocol;
    __u16 checksum;
    __u32 source;
    __u32 destination;
    __u16 source_port;
    __u16 destination_port;
    __u16 udp_length;
    __u16 udp_checksum;
    struct pa_header header;
} __attribute__((packed));
_Static_assert(sizeof(struct pp_sum_frame) == 66, "Ethernet, IPv4, UDP and struct pa_header");

/* What became of the packet: XDP action | verdict << 8; 0: it is the host's as before. */
#define PP_SUM_OUT(action, verdict) ((__u32)(action) | (__u32)(verdict) << 8)
#define PP_SUM_TAKEN PP_SUM_OUT(XDP_DROP, PP_AGGREGATED)
/* It leaves by the port that it came by. */
#define PP_SUM_BACK 0x10000u

/* How long one CPU waits for another: far more often than it takes to add a packet. */
#define PP_SUM_TRIES 2000

PP_INLINE __u32 pp_sum_drop(struct pp_sum_group* group, enum pp_sum_drop why) {
    __sync_fetch_and_add(&group->drops[why], 1);
    return PP_SUM_OUT(XDP_DROP, PP_DROP_AGGREGATION);
}

/* Elements of `lanes` side by side; no carry leaves one. */
PP_INLINE __u64 pp_sum_add(__u64 a, __u64 b, __u64 lanes) {
    return ((a & lanes) + (b & lanes)) ^ ((a ^ b) & ~lanes);
}

enum pp_sum_way { PP_SUM_SET, PP_SUM_ADD, PP_SUM_ADD_OUT, PP_SUM_OUT_ONLY };

PP_INLINE void pp_sum_word(__u64* word, struct pp_field64* in, __u64 lanes, const enum pp_sum_way way) {
    __u64 value = *word;
    if (way == PP_SUM_SET) value = in->value;
    if (way == PP_SUM_ADD || way == PP_SUM_ADD_OUT) value = pp_sum_add(value, in->value, lanes);
    if (way != PP_SUM_OUT_ONLY) *word = value;
    if (way == PP_SUM_ADD_OUT || way == PP_SUM_OUT_ONLY) in->value = value;
}

/* `words` of them between the version and the packet; `way` is known when this is compiled. Eight at a time
 * under one check of the packet's end. */
PP_INLINE void pp_sum_words(struct pp_sum_version* version, void* data, void* end, __u32 words, __u64 lanes,
                            const enum pp_sum_way way) {
    void* in = data + sizeof(struct pp_sum_frame);
    __u32 i = 0;
    for (; i + 8 <= PP_SUM_WORDS; i += 8) {
        if (i + 8 > words || in + 64 > end) break;
#pragma clang loop unroll(full)
        for (int k = 0; k < 8; k++)
            pp_sum_word(&version->words[i + k], (struct pp_field64*)in + k, lanes, way);
        in += 64;
    }
    for (int k = 0; k < 7; k++) {
        if (i >= words || i >= PP_SUM_WORDS || in + 8 > end) break;
        pp_sum_word(&version->words[i], in, lanes, way);
        in += 8;
        i++;
    }
}

PP_INLINE int pp_sum_lock(struct pp_sum_slot* slot) {
    for (int i = 0; i < PP_SUM_TRIES; i++)
        if (__sync_val_compare_and_swap(&slot->lock, 0, 1) == 0) return 1;
    return 0;
}

PP_INLINE void pp_sum_unlock(struct pp_sum_slot* slot) {
    __sync_lock_test_and_set(&slot->lock, 0); /* an exchange, which is a full barrier */
}

/* Turns the frame round, as a result for the worker that sent it. */
PP_INLINE void pp_sum_turn(struct pp_sum_frame* frame, __s8 exponent) {
    __u8 mac[6];
    __builtin_memcpy(mac, frame->mac, 6);
    __builtin_memcpy(frame->mac, frame->router_mac, 6);
    __builtin_memcpy(frame->router_mac, mac, 6);
    __u32 address = frame->source;
    frame->source = frame->destination;
    frame->destination = address;
    __u16 port = frame->source_port;
    frame->source_port = frame->destination_port;
    frame->destination_port = port;
    frame->udp_checksum = 0; /* none (RFC 768); addresses that change places leave IPv4's as it is */
    frame->header.kind = PA_RESULT;
    frame->header.exponent = exponent;
}

enum pp_sum_deed { PP_SUM_REFUSE, PP_SUM_KEEP, PP_SUM_ANSWER, PP_SUM_COMPLETE };

/* The version's part, under the slot's lock: deed | enum pp_sum_drop << 8 | exponent << 16. */
PP_INLINE __u32 pp_sum_into(struct pp_sum_version* version, const struct pp_sum_version* other, __u64 all,
                            __u64 lanes, __u32 slots, struct pp_sum_frame* frame, void* end, __u32 words) {
    void* data = frame;
    const __u64 bit = 1ull << (frame->header.worker & (PA_MAX_WORKERS - 1));
    const __u32 chunk = frame->header.chunk;
    const __u16 count = frame->header.count;
    const __s8 exponent = frame->header.exponent;
    const __u64 seen = version->seen;
    if (!seen || chunk != version->chunk) {
        /* A worker begins a chunk when it has the result of the one that the other version holds: that one is
         * whole then, and what this version held everybody had before they sent to the other. */
        const int first = !seen && !other->seen && chunk < slots;
        const int next = other->seen == all && chunk == other->chunk + slots && (!seen || seen == all);
        if (!first && !next) {
            const int stale = (seen && (__s32)(chunk - version->chunk) < 0) ||
                              (other->seen && (__s32)(chunk - other->chunk) < 0);
            return PP_SUM_REFUSE | (stale ? PP_SUM_STALE : PP_SUM_AHEAD) << 8;
        }
        version->chunk = chunk;
        version->count = count;
        version->exponent = exponent;
        version->seen = bit;
        version->served = 0;
        pp_sum_words(version, data, end, words, lanes, PP_SUM_SET);
        return bit == all ? PP_SUM_COMPLETE | (__u32)(__u8)exponent << 16 : PP_SUM_KEEP;
    }
    if (count != version->count) return PP_SUM_REFUSE | PP_SUM_LENGTH << 8;
    if (seen & bit) {
        if (seen != all) return PP_SUM_KEEP | 1u << 24;
        pp_sum_words(version, data, end, words, lanes, PP_SUM_OUT_ONLY);
        return PP_SUM_ANSWER | (__u32)(__u8)version->exponent << 16 | 1u << 24;
    }
    if (exponent > version->exponent) version->exponent = exponent;
    version->seen = seen | bit;
    if ((seen | bit) != all) {
        pp_sum_words(version, data, end, words, lanes, PP_SUM_ADD);
        return PP_SUM_KEEP;
    }
    pp_sum_words(version, data, end, words, lanes, PP_SUM_ADD_OUT);
    return PP_SUM_COMPLETE | (__u32)(__u8)version->exponent << 16;
}

/* Not XDP_TX: a veth whose far end has GRO on and no XDP program is not woken by it (veth_xdp_flush), and
 * takes nothing at all any more once its ring is full. By the port's entry, where it has one, as all that
 * leaves: see pp_sum_mark(). */
PP_INLINE __u32 pp_sum_back(struct xdp_md* ctx) {
    __u32 action = bpf_redirect_map(&tx_ports, port_id, 0);
    if (action != XDP_REDIRECT) action = bpf_redirect(ctx->ingress_ifindex, 0);
    return PP_SUM_OUT(action, PP_AGGREGATED) | PP_SUM_BACK;
}

/* The kernel gathers up to 16 frames for a device and runs all of them through the program of the first one's
 * DEVMAP entry (struct xdp_dev_bulk_queue). So the entries of all ports have the egress program, and results
 * are what it knows by MAC addresses that no other frame has. */
PP_INLINE void pp_sum_mark(struct pp_sum_frame* frame) {
    __builtin_memset(frame->mac, 0, 6);
    __builtin_memset(frame->router_mac, 0, 6);
}
PP_INLINE int pp_sum_is_marked(const struct pp_sum_frame* frame) {
    const struct pp_field32* words = (const void*)frame;
    return (words[0].value | words[1].value | words[2].value) == 0;
}

/* What the stage has to know of a worker to answer it, from the message that it joins by. */
PP_INLINE void pp_sum_learn(struct pp_sum_worker* worker, const struct pp_sum_frame* frame, __u32 ifindex) {
    __builtin_memcpy(worker->mac, frame->router_mac, 6);
    __builtin_memcpy(worker->router_mac, frame->mac, 6);
    worker->router = frame->destination;
    worker->udp_port = frame->source_port;
    worker->port = (__u16)port_id;
    worker->ifindex = ifindex;
}

/* A packet that is the host's: one for a group? */
PP_RARE __u32 pp_aggregate(struct xdp_md* ctx) {
    if (!aggregation) return 0;
    void* end = PP_END(ctx);
    struct pp_sum_frame* frame = PP_DATA(ctx);
    void* udp = (void*)frame + PP_ETH_HEADER + 28;
    if (udp > end || frame->ethertype != PP_ETHERTYPE_IPV4 || frame->protocol != PP_SUM_UDP ||
        frame->version_length != 0x45)
        return 0;
    if (frame->fragment & bpf_htons(0x1fff)) return 0; /* no UDP header in it */
    __u16 port = frame->destination_port;
    const __u32* number = bpf_map_lookup_elem(&sum_ports, &port);
    if (!number) return 0;
    const __u32 key = *number;
    struct pp_sum_group* group = bpf_map_lookup_elem(&sum_groups, &key);
    if (!group || !group->all) return 0;
    const __u32 udp_length = bpf_ntohs(frame->udp_length);
    if ((frame->fragment & bpf_htons(0x2000)) || (void*)(frame + 1) > end ||
        frame->header.magic != PA_MAGIC || udp_length < 8 + sizeof(struct pa_header) ||
        udp_length + 20 != bpf_ntohs(frame->total_length) || (__u32)(end - (void*)frame) < udp_length + 34)
        return pp_sum_drop(group, PP_SUM_FORM);
    const __u32 index = frame->header.worker;
    if (index >= PA_MAX_WORKERS || index >= group->workers) return pp_sum_drop(group, PP_SUM_SOURCE);
    struct pp_sum_worker* worker = &group->worker[index];
    if (worker->address != frame->source) return pp_sum_drop(group, PP_SUM_SOURCE);
    if (frame->header.key != group->key) return pp_sum_drop(group, PP_SUM_KEY);
    if (frame->header.kind != PA_ADD) {
        if (frame->header.kind != PA_JOIN && frame->header.kind != PA_ALIVE && frame->header.kind != PA_LEAVE)
            return pp_sum_drop(group, PP_SUM_TYPE);
        if (frame->header.kind == PA_JOIN) pp_sum_learn(worker, frame, ctx->ingress_ifindex);
        worker->heard = bpf_ktime_get_coarse_ns();
        return 0; /* the daemon's */
    }
    if (!group->running || frame->header.epoch != group->epoch) return pp_sum_drop(group, PP_SUM_EPOCH);
    if ((frame->header.type & ~PA_VERSION_BIT) != group->type) return pp_sum_drop(group, PP_SUM_TYPE);
    const __u32 bytes = (__u32)frame->header.count * group->element_bytes;
    if (!bytes || bytes % 8 || frame->header.count > group->elements ||
        udp_length != 8 + sizeof(struct pa_header) + bytes)
        return pp_sum_drop(group, PP_SUM_LENGTH);
    /* The chunk's number says which slot and version; that the worker thinks so, too, is asked for. */
    const __u32 slots = group->slots;
    const __u32 chunk = frame->header.chunk;
    const __u32 number_in_group = chunk & (slots - 1);
    const __u32 half = !!(chunk & slots);
    if (frame->header.slot != number_in_group || !!(frame->header.type & PA_VERSION_BIT) != half)
        return pp_sum_drop(group, PP_SUM_SLOT);
    const __u32 at = group->first_slot + number_in_group;
    struct pp_sum_slot* slot = bpf_map_lookup_elem(&sum_slots, &at);
    if (!slot) return pp_sum_drop(group, PP_SUM_SLOT);

    if (!pp_sum_lock(slot)) return pp_sum_drop(group, PP_SUM_BUSY);
    const __u32 words = bytes / 8;
    const __u32 done = half ? pp_sum_into(&slot->version[1], &slot->version[0], group->all, group->lanes,
                                          slots, frame, end, words)
                            : pp_sum_into(&slot->version[0], &slot->version[1], group->all, group->lanes,
                                          slots, frame, end, words);
    pp_sum_unlock(slot);

    const __u32 deed = done & 0xff;
    if (deed == PP_SUM_REFUSE) return pp_sum_drop(group, (enum pp_sum_drop)(done >> 8 & 0xf));
    worker->heard = bpf_ktime_get_coarse_ns();
    __sync_fetch_and_add(&worker->packets, 1);
    if (done >> 24) __sync_fetch_and_add(&worker->again, 1);
    if (deed == PP_SUM_KEEP) return PP_SUM_TAKEN;
    pp_sum_turn(frame, (__s8)(done >> 16));
    if (deed == PP_SUM_ANSWER) {
        __sync_fetch_and_add(&group->answered, 1);
        return pp_sum_back(ctx);
    }
    __sync_fetch_and_add(&group->chunks, 1);
    __sync_fetch_and_add(&worker->last, 1);
    void* exits = bpf_map_lookup_elem(&sum_exits, &key);
    if (!exits || bpf_redirect_map(exits, 0, BPF_F_BROADCAST) != XDP_REDIRECT)
        return pp_sum_back(ctx); /* the others ask again */
    pp_sum_mark(frame);
    return PP_SUM_OUT(XDP_REDIRECT, PP_AGGREGATED);
}

#endif
