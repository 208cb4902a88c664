/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of plain_check.h, for however many frames a pp_vec has a lane for. A variant defines before
 * it includes this:
 *   pp_vec, pp_signed    PP_LANES lanes of __u32, of __s32; plain integers for one lane
 *   PP_ALL(x)            x in every lane
 *   PP_SWAP(v)           the bytes of each lane turned round
 *   pp_rows()            words of 16 bytes of each frame: lane i of words[w] has bytes at + 4w … of frames[i]
 *   pp_words()           4 bytes of each frame
 *   pp_lengths()         lengths[0 … PP_LANES-1]
 *   pp_from_table()      table[index] of each lane
 *   pp_bits()            lane i: all ones where bit i is set, else 0
 *   pp_signs()           bit i: the sign of lane i
 *   pp_put()             to[0 … PP_LANES-1] = v
 *
 * There is no branch and no comparison in it. What must be nothing is or'ed into `bad`; what must not be
 * negative, into `sign`, of which only the top bit counts. All bytes are read as they lie, little-endian. */
#ifndef PKTPIT_FORWARD_PLAIN_STEPS_H
#define PKTPIT_FORWARD_PLAIN_STEPS_H

#include "fib/lookup.h"
#include "router/forward/plain_check.h"

/* pp_from_table() loads words that the writer changes, by vector instructions. */
#define PP_READS_TABLE __attribute__((no_sanitize("thread")))

#define PP_LEAST_PAYLOAD 46u /* of an Ethernet frame; what is shorter is padded */

/* What is looked at of a frame, and how far the check has come. */
struct pp_plain {
    pp_vec to;      /* bytes 0 … 3; to2: 2 … 5, and so on */
    pp_vec two[4];  /* bytes 2 … 17 */
    pp_vec rest[4]; /* bytes 18 … 33 */
    pp_vec room;    /* bytes of the frame behind the Ethernet header */
    pp_vec bad;
    pp_vec sign;
};

/* The sign of lanes that are 0; of values below 2^31 v - 1 has it, too. */
PP_FIB_INLINE pp_vec pp_is_zero(pp_vec v) {
    return ~(v | (PP_ALL(0) - v));
}

/* Frames of the port's own, untagged, from a station that is not the port itself: the source is nobody's
 * group, nor the destination; 4 bytes of it tell the two apart, mostly. */
PP_FIB_INLINE void pp_plain_link_layer(struct pp_plain* p, unsigned char* const* frames, const __u32* lengths,
                                       __u64 own, __u32 type_as_it_lies) {
    p->to = pp_words(frames, 0);
    pp_rows(frames, 2, p->two);
    pp_rows(frames, 18, p->rest);
    p->room = pp_lengths(lengths) - PP_ALL(14);
    const pp_vec own2 = PP_ALL((__u32)(own >> 16));
    p->bad = (p->to ^ PP_ALL((__u32)own)) | (p->two[0] ^ own2);
    p->bad |= p->two[1] & PP_ALL(1);
    p->sign = pp_is_zero(((p->two[1] >> 16) | (p->two[2] << 16)) ^ own2);
    p->bad |= (p->two[2] >> 16) ^ PP_ALL(type_as_it_lies);
}

/* The packet is in the frame, and what is behind it is a short frame's padding. */
PP_FIB_INLINE void pp_plain_length(struct pp_plain* p, pp_vec packet) {
    const pp_vec behind = p->room - packet;
    p->sign |= p->room | behind;
    p->sign |= (PP_ALL(0) - behind) & (PP_ALL(PP_LEAST_PAYLOAD) - p->room);
}

/* The top bit of lanes that are not plain. */
PP_FIB_INLINE pp_vec pp_not_plain(const struct pp_plain* p) {
    return p->sign | p->bad | (PP_ALL(0) - p->bad);
}

/* 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, from 224.0.0.0 on: something else happens to these. */
PP_FIB_INLINE pp_vec pp_is_special4(pp_vec address) {
    const pp_vec net = address >> 24;
    return (net - PP_ALL(1)) | (PP_ALL(223) - net) | ((net ^ PP_ALL(127)) - PP_ALL(1)) |
           (((address >> 16) ^ PP_ALL(0xa9fe)) - PP_ALL(1));
}

/* The low 16 bits, carries of a one's complement sum folded into them once. */
PP_FIB_INLINE pp_vec pp_fold(pp_vec sum) {
    return (sum >> 16) + (sum & PP_ALL(0xffff));
}

PP_FIB_INLINE __u64 pp_plain4(const struct pp_plain_run* run, __u32 at) {
    struct pp_plain p;
    pp_plain_link_layer(&p, run->frames + at, run->lengths + at, run->own, 0x0008);
    const pp_vec start = p.two[3];  /* version and length, TOS, total length */
    const pp_vec third = p.rest[1]; /* TTL, protocol, checksum */
    p.bad |= (start & PP_ALL(0xff)) ^ PP_ALL(0x45);
    const pp_vec total = ((start >> 8) & PP_ALL(0xff00)) | (start >> 24);
    p.sign |= total - PP_ALL(20);
    pp_plain_length(&p, total);

    const pp_vec half = PP_ALL(0xffff);
    pp_vec sum = (start & half) + (start >> 16);
    for (int word = 0; word < 4; word++)
        sum += (p.rest[word] & half) + (p.rest[word] >> 16);
    p.bad |= (pp_fold(pp_fold(sum)) ^ half) & ~pp_bits(run->verified >> at);

    p.sign |= (third & PP_ALL(0xff)) - PP_ALL(2);
    const pp_vec source = PP_SWAP(p.rest[2]);
    const pp_vec destination = PP_SWAP(p.rest[3]);
    p.sign |= pp_is_special4(source) | pp_is_special4(destination);
    const pp_vec bit = (source * PP_ALL(0x9e3779b1u)) >> 17; /* pp_fib_source_bit4() */
    p.bad |= (pp_from_table(run->sources, bit >> 5) >> (bit & PP_ALL(31))) & PP_ALL(1);

    /* RFC 1624 eqn. 3. TTL and protocol are the word m, and m' = m - 1 as it lies, so ~m + m' is 0xfffe. */
    const pp_vec checksum = ~pp_fold(((~third) >> 16) + PP_ALL(0xfffe)) & half;
    pp_put(run->changed + at, ((third & half) - PP_ALL(1)) | (checksum << 16));
    const pp_vec wrong = pp_not_plain(&p);
    pp_put(run->destinations + at, destination & ~(pp_vec)((pp_signed)wrong >> 31));
    return pp_signs(wrong);
}

/* Unspecified, loopback, IPv4-mapped (all of whose first half is 0), link-local, multicast. `first`,
 * `second`: the address's first 8 bytes. */
PP_FIB_INLINE pp_vec pp_is_special6(pp_vec first, pp_vec second) {
    return pp_is_zero(first | second) | (((first & PP_ALL(0xc0ff)) ^ PP_ALL(0x80fe)) - PP_ALL(1)) |
           (((first & PP_ALL(0xff)) ^ PP_ALL(0xff)) - PP_ALL(1));
}

PP_FIB_INLINE __u64 pp_plain6(const struct pp_plain_run* run, __u32 at) {
    struct pp_plain p;
    pp_plain_link_layer(&p, run->frames + at, run->lengths + at, run->own, 0xdd86);
    pp_vec more[4]; /* bytes 34 … 49: the source's end, the destination's beginning */
    pp_rows(run->frames + at, 34, more);
    const pp_vec second = p.rest[0]; /* payload length, next header, hop limit */
    p.bad |= (p.two[3] & PP_ALL(0xf0)) ^ PP_ALL(0x60);
    const pp_vec payload = ((second & PP_ALL(0xff)) << 8) | ((second >> 8) & PP_ALL(0xff));
    pp_plain_length(&p, payload + PP_ALL(40));
    p.sign |= ((second >> 16) & PP_ALL(0xff)) - PP_ALL(1); /* hop-by-hop options are looked at */
    p.sign |= (second >> 24) - PP_ALL(2);
    p.sign |= pp_is_special6(p.rest[1], p.rest[2]) | pp_is_special6(more[1], more[2]);
    /* pp_fib_source_bit6() */
    const pp_vec front = PP_SWAP(p.rest[1]) ^ PP_SWAP(p.rest[2]) * PP_ALL(0x9e3779b1u);
    const pp_vec back = PP_SWAP(p.rest[3]) ^ PP_SWAP(more[0]) * PP_ALL(0x85ebca6bu);
    const pp_vec bit = ((front ^ back) * PP_ALL(0xc2b2ae35u)) >> 17;
    p.bad |= (pp_from_table(run->sources, bit >> 5) >> (bit & PP_ALL(31))) & PP_ALL(1);
    pp_put(run->changed + at, second - PP_ALL(0x01000000));
    return pp_signs(pp_not_plain(&p));
}

#define PP_PLAIN_VARIANT(name)                                              \
    PP_READS_TABLE __u64 pp_plain4_##name(const struct pp_plain_run* run) { \
        __u64 wrong = 0;                                                    \
        for (__u32 at = 0; at < run->count; at += PP_LANES)                 \
            wrong |= pp_plain4(run, at) << at;                              \
        return ~wrong & (~0ull >> (64 - run->count));                       \
    }                                                                       \
    PP_READS_TABLE __u64 pp_plain6_##name(const struct pp_plain_run* run) { \
        __u64 wrong = 0;                                                    \
        for (__u32 at = 0; at < run->count; at += PP_LANES)                 \
            wrong |= pp_plain6(run, at) << at;                              \
        return ~wrong & (~0ull >> (64 - run->count));                       \
    }

#endif
