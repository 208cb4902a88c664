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
#include "fib/batch_loads.h"
#include "fib/batch_steps.h"

#define PP_VECTOR 8
#define PP_VECTORS (PP_BATCH / PP_VECTOR)

/* What each of 8 entries leads to, by bits 28 to 30: the kinds of nodes; of a group id, 0. */
PP_FIB_INLINE __m256i pp_by_kind(__m256i entry, int ids1, int ids2, int entries) {
    const __m256i of = _mm256_setr_epi32(ids1, ids2, entries, entries, entries, entries, entries, entries);
    return _mm256_permutevar8x32_epi32(of, _mm256_srli_epi32(entry, 28));
}

/* Where the elements for the next 8 bits lie; of group ids the nodes' first bytes. */
PP_FIB_INLINE __m256i pp_element_offsets(__m256i entry, __m256i bits8) {
    __m256i shift = _mm256_and_si256(_mm256_srli_epi32(entry, 24), _mm256_set1_epi32(15));
    __m256i place = _mm256_slli_epi32(_mm256_and_si256(entry, _mm256_set1_epi32(PP_FIB_PLACE_MASK)), 4);
    __m256i element = _mm256_sllv_epi32(_mm256_srlv_epi32(bits8, shift), pp_by_kind(entry, 0, 1, 2));
    return _mm256_and_si256(_mm256_add_epi32(place, element), _mm256_srai_epi32(entry, 31));
}

/* The element that each word begins with where the entry was a node, else the entry. */
PP_FIB_INLINE __m256i pp_elements(__m256i entry, __m256i words) {
    __m256i element = _mm256_and_si256(words, pp_by_kind(entry, 0xff, 0xffff, -1));
    return _mm256_blendv_epi8(entry, element, _mm256_srai_epi32(entry, 31));
}

/* Two steps for all addresses; ids of any width, so that no table has a slow way. A third where a node is
 * found after them. */
PP_FIB_INLINE void pp_root_batch4_avx2(const struct pp_batch* b, const __u32* addresses, __u32* groups) {
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    __u32 offsets[PP_BATCH] __attribute__((aligned(32)));
    __m256i entries[PP_VECTORS];
    __u64 nodes = 0;
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        const pp_half* upper = (const pp_half*)(addresses + v * PP_VECTOR) + 1;
        entries[v] = _mm256_set_m128i(pp_four_indexed(root, upper + 8, 2), pp_four_indexed(root, upper, 2));
        __m256i address = _mm256_loadu_si256((const __m256i*)(addresses + v * PP_VECTOR));
        __m256i bits8 = _mm256_and_si256(_mm256_srli_epi32(address, 8), _mm256_set1_epi32(255));
        _mm256_store_si256((__m256i*)offsets + v, pp_element_offsets(entries[v], bits8));
    }
    PP_THROUGH_MEMORY(offsets);
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        const __u32* at = offsets + v * PP_VECTOR;
        __m256i words = _mm256_set_m128i(pp_four_at(b->nodes, at + 4), pp_four_at(b->nodes, at));
        entries[v] = pp_elements(entries[v], words);
        _mm256_storeu_si256((__m256i*)groups + v, entries[v]);
        nodes |= (__u64)(__u32)_mm256_movemask_ps(_mm256_castsi256_ps(entries[v])) << (v * PP_VECTOR);
    }
    pp_third_step4_lanes(b, addresses, groups, nodes);
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
