/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain or not, 8 frames at a time, with AVX2. */
#include <immintrin.h>

#include "fib/lookup.h"

typedef __u32 pp_vec __attribute__((vector_size(32)));
typedef __s32 pp_signed __attribute__((vector_size(32)));
#define PP_LANES 8
#define PP_ALL(x) ((pp_vec)_mm256_set1_epi32((int)(x)))

PP_FIB_INLINE pp_vec pp_swap_avx2(pp_vec v) {
    const __m256i turned = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0,
                                            7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return (pp_vec)_mm256_shuffle_epi8((__m256i)v, turned);
}
#define PP_SWAP(v) pp_swap_avx2(v)

PP_FIB_INLINE int pp_word_at(const unsigned char* bytes) {
    typedef int __attribute__((aligned(1), may_alias)) word;
    return *(const word*)bytes;
}

PP_FIB_INLINE pp_vec pp_words(unsigned char* const* f, __u32 at) {
    return (pp_vec)_mm256_setr_epi32(pp_word_at(f[0] + at), pp_word_at(f[1] + at), pp_word_at(f[2] + at),
                                     pp_word_at(f[3] + at), pp_word_at(f[4] + at), pp_word_at(f[5] + at),
                                     pp_word_at(f[6] + at), pp_word_at(f[7] + at));
}

/* Of two frames, 4 apart. */
PP_FIB_INLINE __m256i pp_row_avx2(unsigned char* const* frames, __u32 at) {
    const __m128i low = _mm_loadu_si128((const __m128i*)(frames[0] + at));
    const __m128i high = _mm_loadu_si128((const __m128i*)(frames[4] + at));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

PP_FIB_INLINE void pp_rows(unsigned char* const* frames, __u32 at, pp_vec* words) {
    const __m256i row0 = pp_row_avx2(frames, at), row1 = pp_row_avx2(frames + 1, at);
    const __m256i row2 = pp_row_avx2(frames + 2, at), row3 = pp_row_avx2(frames + 3, at);
    const __m256i low01 = _mm256_unpacklo_epi32(row0, row1), high01 = _mm256_unpackhi_epi32(row0, row1);
    const __m256i low23 = _mm256_unpacklo_epi32(row2, row3), high23 = _mm256_unpackhi_epi32(row2, row3);
    words[0] = (pp_vec)_mm256_unpacklo_epi64(low01, low23);
    words[1] = (pp_vec)_mm256_unpackhi_epi64(low01, low23);
    words[2] = (pp_vec)_mm256_unpacklo_epi64(high01, high23);
    words[3] = (pp_vec)_mm256_unpackhi_epi64(high01, high23);
}

PP_FIB_INLINE pp_vec pp_lengths(const __u32* lengths) {
    return (pp_vec)_mm256_loadu_si256((const __m256i*)lengths);
}
/* Masked with a zeroed source: an unmasked gather waits for what its destination last was. */
PP_FIB_INLINE pp_vec pp_from_table(const __u32* table, pp_vec index) {
    return (pp_vec)_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int*)table, (__m256i)index,
                                               _mm256_set1_epi32(-1), 4);
}
PP_FIB_INLINE pp_vec pp_bits(__u64 bits) {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return (pp_vec)_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}
PP_FIB_INLINE __u64 pp_signs(pp_vec v) {
    return (__u32)_mm256_movemask_ps(_mm256_castsi256_ps((__m256i)v));
}
PP_FIB_INLINE void pp_put(__u32* to, pp_vec v) {
    _mm256_storeu_si256((__m256i*)to, (__m256i)v);
}

#include "router/forward/plain_steps.h"

PP_PLAIN_VARIANT(avx2)
