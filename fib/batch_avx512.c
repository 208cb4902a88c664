/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch lookups with AVX-512 (F, BW, DQ, VL) and BMI2. */
#include <immintrin.h>

#include "fib/batch.h"

PP_FIB_INLINE __u32 pp_sorted_id_avx512(const struct pp_fib_sorted* sorted, __u32 bits16) {
    __m256i first = _mm256_loadu_si256((const __m256i*)sorted->first);
    __mmask16 not_above = _mm256_cmple_epu16_mask(first, _mm256_set1_epi16((short)bits16));
    return PP_FIB_LOAD(__u16, &sorted->id[_mm_popcnt_u32(not_above) - 1]);
}
#define PP_SORTED_ID pp_sorted_id_avx512
#include "fib/batch_loads.h"
#include "fib/batch_steps.h"

#define PP_VECTOR 16
#define PP_VECTORS (PP_BATCH / PP_VECTOR)

PP_FIB_INLINE __m512i pp_joined(__m128i first, __m128i second, __m128i third, __m128i fourth) {
    __m512i low = _mm512_inserti32x4(_mm512_castsi128_si512(first), second, 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(low, third, 2), fourth, 3);
}

/* The root's entries for 16 IPv4 addresses, whose upper halves are read as they lie. */
PP_FIB_INLINE __m512i pp_root_entries4(const unsigned char* root, const __u32* addresses) {
    const pp_half* upper = (const pp_half*)addresses + 1;
    return pp_joined(pp_four_indexed(root, upper, 2), pp_four_indexed(root, upper + 8, 2),
                     pp_four_indexed(root, upper + 16, 2), pp_four_indexed(root, upper + 24, 2));
}

/* The words at 16 offsets that lie in memory. */
PP_FIB_INLINE __m512i pp_words_at(const unsigned char* nodes, const __u32* offsets) {
    return pp_joined(pp_four_at(nodes, offsets), pp_four_at(nodes, offsets + 4),
                     pp_four_at(nodes, offsets + 8), pp_four_at(nodes, offsets + 12));
}

/* Masked with a zeroed source: an unmasked gather waits for what its destination last was. */
PP_FIB_INLINE __m512i pp_gather(__mmask16 lanes, __m512i offsets, const void* base) {
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, offsets, base, 1);
}

/* The same from an array of entries. */
PP_FIB_INLINE __m512i pp_gather4(__mmask16 lanes, __m512i indices, const void* base) {
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, indices, base, 4);
}

PP_FIB_INLINE __m512i pp_kinds(__m512i entry) {
    return _mm512_and_si512(_mm512_srli_epi32(entry, 28), _mm512_set1_epi32(7));
}

/* Where the elements for the next 8 bits lie, for nodes of ids and entries. */
PP_FIB_INLINE __m512i pp_element_offsets(__m512i entry, __m512i bits8) {
    __m512i shift = _mm512_and_si512(_mm512_srli_epi32(entry, 24), _mm512_set1_epi32(15));
    __m512i place = _mm512_slli_epi32(_mm512_and_si512(entry, _mm512_set1_epi32(PP_FIB_PLACE_MASK)), 4);
    return _mm512_add_epi32(place, _mm512_sllv_epi32(_mm512_srlv_epi32(bits8, shift), pp_kinds(entry)));
}

PP_FIB_INLINE __m512i pp_element_masks(__m512i entry) {
    __m512i width = _mm512_sllv_epi32(_mm512_set1_epi32(8), pp_kinds(entry));
    return _mm512_srlv_epi32(_mm512_set1_epi32(-1), _mm512_sub_epi32(_mm512_set1_epi32(32), width));
}

/* By an entry's top 4 bits (group id or node, and its kind): log2 of an element's bytes, and the bits that
 * are an element; of a group id none, so that nothing is read but the nodes' first bytes. */
#define PP_BY_KIND(decided, ids1, ids2, entries)                                                          \
    _mm512_setr_epi32(decided, decided, decided, decided, decided, decided, decided, decided, ids1, ids2, \
                      entries, entries, entries, entries, entries, entries)

/* Where the elements for the next 8 bits lie; of group ids the nodes' first bytes. */
PP_FIB_INLINE __m512i pp_next_offsets(__m512i entry, __m512i bits8) {
    __m512i shift = _mm512_and_si512(_mm512_srli_epi32(entry, 24), _mm512_set1_epi32(15));
    __m512i width = _mm512_permutexvar_epi32(_mm512_srli_epi32(entry, 28), PP_BY_KIND(0, 0, 1, 2));
    __m512i place = _mm512_slli_epi32(_mm512_and_si512(entry, _mm512_set1_epi32(PP_FIB_PLACE_MASK)), 4);
    __m512i element = _mm512_sllv_epi32(_mm512_srlv_epi32(bits8, shift), width);
    return _mm512_maskz_add_epi32(_mm512_movepi32_mask(entry), place, element);
}

/* The elements at these offsets where the entry is a node, else the entry. */
PP_FIB_INLINE __m512i pp_next_entries(const unsigned char* nodes, __m512i entry, const __u32* offsets) {
    __m512i mask = _mm512_permutexvar_epi32(_mm512_srli_epi32(entry, 28), PP_BY_KIND(0, 0xff, 0xffff, -1));
    return _mm512_mask_and_epi32(entry, _mm512_movepi32_mask(entry), pp_words_at(nodes, offsets), mask);
}

/* What two steps left undecided: few are taken one by one, more by vectors, which take them for all. */
#define PP_FEW_LANES 4
PP_FIB_INLINE void pp_third_step4_avx512(const struct pp_batch* b, const __u32* addresses,
                                         const __m512i* entries, __u32* groups) {
    __u32 offsets[PP_BATCH] __attribute__((aligned(64)));
    __u64 nodes = 0;
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++)
        nodes |= (__u64)_mm512_movepi32_mask(entries[v]) << (v * PP_VECTOR);
    if (_mm_popcnt_u64(nodes) <= PP_FEW_LANES) return pp_third_step4_lanes(b, addresses, groups, nodes);
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        __m512i address = _mm512_loadu_si512(addresses + v * PP_VECTOR);
        __m512i bits8 = _mm512_and_si512(address, _mm512_set1_epi32(255));
        _mm512_store_si512(offsets + v * PP_VECTOR, pp_next_offsets(entries[v], bits8));
    }
    PP_THROUGH_MEMORY(offsets);
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++)
        _mm512_storeu_si512(groups + v * PP_VECTOR,
                            pp_next_entries(b->nodes, entries[v], offsets + v * PP_VECTOR));
}

/* Two steps for all addresses; ids of any width, so that no table has a slow way. A third where a node is
 * found after them. */
PP_FIB_INLINE void pp_root_batch4_avx512(const struct pp_batch* b, const __u32* addresses, __u32* groups) {
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    __u32 offsets[PP_BATCH] __attribute__((aligned(64)));
    __m512i entries[PP_VECTORS];
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        entries[v] = pp_root_entries4(root, addresses + v * PP_VECTOR);
        __m512i address = _mm512_loadu_si512(addresses + v * PP_VECTOR);
        __m512i bits8 = _mm512_and_si512(_mm512_srli_epi32(address, 8), _mm512_set1_epi32(255));
        _mm512_store_si512(offsets + v * PP_VECTOR, pp_next_offsets(entries[v], bits8));
    }
    PP_THROUGH_MEMORY(offsets);
    __m512i any = _mm512_setzero_si512();
    PP_UNROLL_16
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        entries[v] = pp_next_entries(b->nodes, entries[v], offsets + v * PP_VECTOR);
        _mm512_storeu_si512(groups + v * PP_VECTOR, entries[v]);
        any = _mm512_or_si512(any, entries[v]);
    }
    if (__builtin_expect(_mm512_movepi32_mask(any), 0)) pp_third_step4_avx512(b, addresses, entries, groups);
}

PP_READS_WIDE void pp_batch4_avx512(const struct pp_batch* batch, const __u32* addresses, __u32* groups,
                                    size_t count) {
    size_t done = 0;
    if (pp_begins_with_root(batch->entry))
        for (; done + PP_BATCH <= count; done += PP_BATCH)
            pp_root_batch4_avx512(batch, addresses + done, groups + done);
    pp_rest4(batch, addresses + done, groups + done, count - done);
}

/* The `word`th 4 bytes of 16 addresses, as numbers. */
PP_FIB_INLINE __m512i pp_words6(const __u8* addresses, unsigned word) {
    const __m512i index =
        _mm512_add_epi32(_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28),
                         _mm512_set1_epi32((int)word));
    const __m512i swap = _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
    __m512i low =
        _mm512_permutex2var_epi32(_mm512_loadu_si512(addresses), index, _mm512_loadu_si512(addresses + 64));
    __m512i high = _mm512_permutex2var_epi32(_mm512_loadu_si512(addresses + 128), index,
                                             _mm512_loadu_si512(addresses + 192));
    return _mm512_shuffle_epi8(_mm512_mask_blend_epi32(0xff00, low, high), swap);
}

/* 64 addresses of a table that begins with a root, level by level: 4 vectors of entries, whose gathers do not
 * wait for each other. A sparse node ends the way of its addresses, which are looked at one by one at the
 * end: one mispredicted loop end a batch instead of one a level. */
PP_FIB_INLINE void pp_root_batch6_avx512(const struct pp_batch* b, const __u8* addresses, __u32* groups) {
    if (pp_one_answer6(b, addresses, groups)) return;
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    __m512i words[PP_VECTORS], entries[PP_VECTORS];
    __mmask16 undecided[PP_VECTORS];
    __u32 levels[PP_BATCH] __attribute__((aligned(64)));
    __u64 sparse = 0;
    for (unsigned v = 0; v < PP_VECTORS; v++) {
        words[v] = pp_words6(addresses + v * 16 * PP_VECTOR, 0);
        entries[v] = pp_gather4(0xffff, _mm512_srli_epi32(words[v], 16), root);
        words[v] = _mm512_slli_epi32(words[v], 16);
        undecided[v] = 0xffff;
    }
    for (unsigned level = 2; level < 16; level++) {
        __mmask16 any = 0;
        for (unsigned v = 0; v < PP_VECTORS; v++) {
            _mm512_mask_storeu_epi32(groups + v * PP_VECTOR, undecided[v], entries[v]);
            __mmask16 node =
                _mm512_mask_test_epi32_mask(undecided[v], entries[v], _mm512_set1_epi32((int)PP_FIB_NODE));
            __mmask16 sorted =
                _mm512_mask_cmpeq_epi32_mask(node, pp_kinds(entries[v]), _mm512_set1_epi32(PP_FIB_SORTED));
            _mm512_mask_storeu_epi32(levels + v * PP_VECTOR, undecided[v], _mm512_set1_epi32((int)level));
            undecided[v] = (__mmask16)(node & ~sorted);
            any |= undecided[v];
            sparse |= (__u64)sorted << (v * PP_VECTOR);
        }
        if (!any) break;
        for (unsigned v = 0; v < PP_VECTORS; v++) {
            if (level % 4 == 0) words[v] = pp_words6(addresses + v * 16 * PP_VECTOR, level / 4);
            __m512i offsets = pp_element_offsets(entries[v], _mm512_srli_epi32(words[v], 24));
            words[v] = _mm512_slli_epi32(words[v], 8);
            entries[v] =
                _mm512_and_si512(pp_gather(undecided[v], offsets, b->nodes), pp_element_masks(entries[v]));
        }
        if (level == 15)
            for (unsigned v = 0; v < PP_VECTORS; v++)
                _mm512_mask_storeu_epi32(groups + v * PP_VECTOR, undecided[v], entries[v]);
    }
    for (; sparse; sparse &= sparse - 1) {
        unsigned i = (unsigned)__builtin_ctzll(sparse);
        groups[i] = PP_SORTED_ID(pp_sorted_at(b, groups[i]), pp_bits16(addresses + 16 * i + levels[i]));
    }
}

PP_READS_WIDE void pp_batch6_avx512(const struct pp_batch* batch, const __u8* addresses, __u32* groups,
                                    size_t count) {
    size_t done = 0;
    if (pp_begins_with_root(batch->entry))
        for (; done + PP_BATCH <= count; done += PP_BATCH)
            pp_root_batch6_avx512(batch, addresses + 16 * done, groups + done);
    pp_lists6(batch, addresses + 16 * done, groups + done, count - done);
}
