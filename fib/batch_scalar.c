/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch lookups without vector instructions. */
#include "fib/batch.h"
#include "fib/batch_steps.h"

PP_READS_WIDE void pp_batch4_scalar(const struct pp_batch* batch, const __u32* addresses, __u32* groups,
                                    size_t count) {
    size_t done = 0;
    if (pp_begins_with_root(batch->entry))
        for (; done + PP_BATCH <= count; done += PP_BATCH)
            pp_root_batch4(batch, addresses + done, groups + done);
    pp_rest4(batch, addresses + done, groups + done, count - done);
}

PP_READS_WIDE void pp_batch6_scalar(const struct pp_batch* batch, const __u8* addresses, __u32* groups,
                                    size_t count) {
    pp_lists6(batch, addresses, groups, count);
}
