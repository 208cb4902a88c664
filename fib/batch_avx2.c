/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch lookups with AVX2 and BMI2. */
#include <immintrin.h>

#include "fib/batch.h"

/* How many of the 16 intervals begin at or below the value; AVX2 has no unsigned comparison. */
PP_FIB_INLINE __u32 pp_sorted_id_avx2(const struct pp_fib_sorted* sorted, __u32 bits16) {
    __m256i first = _mm256_loadu_si256((const __m256i*)sorted->first);
    __m256i value = _mm256_set1_epi16((short)bits16);
    __m256i not_above = _mm256_cmpeq_epi16(_mm256_max_epu16(first, value), value);
    __u32 at = (__u32)_mm_popcnt_u32((__u32)_mm256_movemask_epi8(not_above)) / 2 - 1;
    return PP_FIB_LOAD(__u16, &sorted->id[at]);
}
#define PP_SORTED_ID pp_sorted_id_avx2
#include "fib/batch_steps.h"

/* Root and offsets by vectors, the second load by scalar instructions: those have more loads under way. */
PP_FIB_INLINE void pp_root_batch4_avx2(const struct pp_batch* b, const __u32* addresses, __u32* groups) {
    const int* root = (const int*)(b->nodes + pp_fib_place(b->entry));
    __u32 offsets[PP_BATCH] __attribute__((aligned(32)));
    const __m256i zero = _mm256_setzero_si256();
    __m256i surplus = zero;
    for (size_t i = 0; i < PP_BATCH; i += 8) {
        __m256i address = _mm256_loadu_si256((const __m256i*)(addresses + i));
        /* Masked with a zeroed source: an unmasked gather waits for what its destination last was. */
        __m256i entry =
            _mm256_mask_i32gather_epi32(zero, root, _mm256_srli_epi32(address, 16), _mm256_set1_epi32(-1), 4);
        __m256i node = _mm256_srai_epi32(entry, 31);
        __m256i shift = _mm256_and_si256(_mm256_srli_epi32(entry, 24), _mm256_set1_epi32(15));
        __m256i bits8 = _mm256_and_si256(_mm256_srli_epi32(address, 8), _mm256_set1_epi32(255));
        __m256i place = _mm256_slli_epi32(_mm256_and_si256(entry, _mm256_set1_epi32(PP_FIB_PLACE_MASK)), 4);
        __m256i element = _mm256_add_epi32(place, _mm256_srlv_epi32(bits8, shift));
        /* What the root decides is found in the identity bytes. */
        _mm256_store_si256((__m256i*)(offsets + i), _mm256_blendv_epi8(entry, element, node));
        /* Bits 28 to 30 of a node are its kind; an id of one byte has no bit beyond the low 8. */
        __m256i none = _mm256_blendv_epi8(_mm256_set1_epi32(0x7fffff00), _mm256_set1_epi32(0x70000000), node);
        surplus = _mm256_or_si256(surplus, _mm256_and_si256(entry, none));
    }
    if (__builtin_expect(!_mm256_testz_si256(surplus, surplus), 0))
        return pp_any_root_batch4(b, addresses, groups);
    pp_bytes_at(b->nodes, offsets, groups);
}

PP_READS_WIDE void pp_batch4_avx2(const struct pp_batch* batch, const __u32* addresses, __u32* groups,
                                  size_t count) {
    size_t done = 0;
    if (pp_begins_with_root(batch->entry))
        for (; done + PP_BATCH <= count; done += PP_BATCH)
            pp_root_batch4_avx2(batch, addresses + done, groups + done);
    pp_rest4(batch, addresses + done, groups + done, count - done);
}

PP_READS_WIDE void pp_batch6_avx2(const struct pp_batch* batch, const __u8* addresses, __u32* groups,
                                  size_t count) {
    pp_lists6(batch, addresses, groups, count);
}
