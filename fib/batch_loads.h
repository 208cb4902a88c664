/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of 4 bytes from many places, put together load by load. Included by fib/batch_avx*.c alone.
 *
 * In place of gather instructions: on AMD these take nearly twice as long (Zen 5, 16 elements from the
 * nearest cache: 20 cycles, put together 11), and where a CPU's microcode guards them against data sampling
 * far more. Each load is a plain one of 4 bytes, so that it is part of the insertion and not an instruction
 * of its own. Of what is read only an element's own bytes are kept, and those change by one store: at any
 * alignment no torn value is ever seen. */
#ifndef PKTPIT_FIB_BATCH_LOADS_H
#define PKTPIT_FIB_BATCH_LOADS_H

#include <immintrin.h>

#include "fib/lookup.h"

typedef __u32 __attribute__((aligned(1), may_alias)) pp_any_word;
typedef __u16 __attribute__((may_alias)) pp_half;

/* The words at root + 4 * index[0, stride, 2 * stride ...]. */
PP_FIB_INLINE __m128i pp_four_indexed(const unsigned char* root, const pp_half* index, unsigned stride) {
#define PP_WORD(k) (int)*(const pp_any_word*)(root + 4 * (__u64)index[(k)*stride])
    __m128i words = _mm_cvtsi32_si128(PP_WORD(0));
    words = _mm_insert_epi32(words, PP_WORD(1), 1);
    words = _mm_insert_epi32(words, PP_WORD(2), 2);
    return _mm_insert_epi32(words, PP_WORD(3), 3);
#undef PP_WORD
}

/* Offsets reach the loads through memory: left alone, the compiler takes them out of the vector one by one,
 * which takes two instructions each and ports that the insertions need. */
#define PP_THROUGH_MEMORY(offsets) asm volatile("" : "+m"(offsets))

/* The words at nodes + offsets[0 .. 3]. */
PP_FIB_INLINE __m128i pp_four_at(const unsigned char* nodes, const __u32* offsets) {
#define PP_WORD(k) (int)*(const pp_any_word*)(nodes + offsets[k])
    __m128i words = _mm_cvtsi32_si128(PP_WORD(0));
    words = _mm_insert_epi32(words, PP_WORD(1), 1);
    words = _mm_insert_epi32(words, PP_WORD(2), 2);
    return _mm_insert_epi32(words, PP_WORD(3), 3);
#undef PP_WORD
}

#endif
