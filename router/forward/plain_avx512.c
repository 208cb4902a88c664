/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain or not, 16 frames at a time, with AVX-512 (F, BW, DQ). */
#include <immintrin.h>

#include "fib/lookup.h"

typedef __u32 pp_vec __attribute__((vector_size(64)));
typedef __s32 pp_signed __attribute__((vector_size(64)));
#define PP_LANES 16
#define PP_ALL(x) ((pp_vec)_mm512_set1_epi32((int)(x)))

PP_FIB_INLINE pp_vec pp_swap_avx512(pp_vec v) {
    const __m512i turned = _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
    return (pp_vec)_mm512_shuffle_epi8((__m512i)v, turned);
}
#define PP_SWAP(v) pp_swap_avx512(v)

PP_FIB_INLINE int pp_word_at(const unsigned char* bytes) {
    typedef int __attribute__((aligned(1), may_alias)) word;
    return *(const word*)bytes;
}

PP_FIB_INLINE __m128i pp_four_avx512(unsigned char* const* f, __u32 at) {
    return _mm_setr_epi32(pp_word_at(f[0] + at), pp_word_at(f[1] + at), pp_word_at(f[2] + at),
                          pp_word_at(f[3] + at));
}

PP_FIB_INLINE __m512i pp_quarters(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

PP_FIB_INLINE pp_vec pp_words(unsigned char* const* f, __u32 at) {
    return (pp_vec)pp_quarters(pp_four_avx512(f, at), pp_four_avx512(f + 4, at), pp_four_avx512(f + 8, at),
                               pp_four_avx512(f + 12, at));
}

/* Of four frames, 4 apart. */
PP_FIB_INLINE __m512i pp_row_avx512(unsigned char* const* f, __u32 at) {
    return pp_quarters(
        _mm_loadu_si128((const __m128i*)(f[0] + at)), _mm_loadu_si128((const __m128i*)(f[4] + at)),
        _mm_loadu_si128((const __m128i*)(f[8] + at)), _mm_loadu_si128((const __m128i*)(f[12] + at)));
}

PP_FIB_INLINE void pp_rows(unsigned char* const* frames, __u32 at, pp_vec* words) {
    const __m512i row0 = pp_row_avx512(frames, at), row1 = pp_row_avx512(frames + 1, at);
    const __m512i row2 = pp_row_avx512(frames + 2, at), row3 = pp_row_avx512(frames + 3, at);
    const __m512i low01 = _mm512_unpacklo_epi32(row0, row1), high01 = _mm512_unpackhi_epi32(row0, row1);
    const __m512i low23 = _mm512_unpacklo_epi32(row2, row3), high23 = _mm512_unpackhi_epi32(row2, row3);
    words[0] = (pp_vec)_mm512_unpacklo_epi64(low01, low23);
    words[1] = (pp_vec)_mm512_unpackhi_epi64(low01, low23);
    words[2] = (pp_vec)_mm512_unpacklo_epi64(high01, high23);
    words[3] = (pp_vec)_mm512_unpackhi_epi64(high01, high23);
}

PP_FIB_INLINE pp_vec pp_lengths(const __u32* lengths) {
    return (pp_vec)_mm512_loadu_si512(lengths);
}
/* Masked with a zeroed source: an unmasked gather waits for what its destination last was. */
PP_FIB_INLINE pp_vec pp_from_table(const __u32* table, pp_vec index) {
    return (pp_vec)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, (__m512i)index, table, 4);
}
PP_FIB_INLINE pp_vec pp_bits(__u64 bits) {
    return (pp_vec)_mm512_movm_epi32((__mmask16)bits);
}
PP_FIB_INLINE __u64 pp_signs(pp_vec v) {
    return _mm512_movepi32_mask((__m512i)v);
}
PP_FIB_INLINE void pp_put(__u32* to, pp_vec v) {
    _mm512_storeu_si512(to, (__m512i)v);
}

#include "router/forward/plain_steps.h"

PP_PLAIN_VARIANT(avx512)
