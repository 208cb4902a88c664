/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain or not, a frame at a time: for CPUs without the vectors, and what those are held against. */
#include "fib/lookup.h"

typedef __u32 pp_vec;
typedef __s32 pp_signed;
#define PP_LANES 1
#define PP_ALL(x) ((__u32)(x))
#define PP_SWAP(v) __builtin_bswap32(v)

PP_FIB_INLINE pp_vec pp_words(unsigned char* const* frames, __u32 at) {
    typedef __u32 __attribute__((aligned(1), may_alias)) word;
    return *(const word*)(frames[0] + at);
}
PP_FIB_INLINE void pp_rows(unsigned char* const* frames, __u32 at, pp_vec* words) {
    for (__u32 word = 0; word < 4; word++)
        words[word] = pp_words(frames, at + 4 * word);
}
PP_FIB_INLINE pp_vec pp_lengths(const __u32* lengths) {
    return lengths[0];
}
PP_FIB_INLINE pp_vec pp_from_table(const __u32* table, pp_vec index) {
    return pp_fib_load32(table, (__u64)index * 4);
}
PP_FIB_INLINE pp_vec pp_bits(__u64 bits) {
    return 0u - (__u32)(bits & 1);
}
PP_FIB_INLINE __u64 pp_signs(pp_vec v) {
    return v >> 31;
}
PP_FIB_INLINE void pp_put(__u32* to, pp_vec v) {
    to[0] = v;
}

#include "router/forward/plain_steps.h"

PP_PLAIN_VARIANT(scalar)
