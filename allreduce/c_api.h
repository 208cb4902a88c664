/* SPDX-License-Identifier: BSD-3-Clause */
/* allreduce.h for other languages: what python/pktpit_allreduce.py calls. One thread a worker. */
#ifndef PKTPIT_ALLREDUCE_C_API_H
#define PKTPIT_ALLREDUCE_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pktpit_allreduce;

/* `peers`: "ADDRESS:PORT,…" of each worker for the ring, "" for none; `bind`: "" or an address; `log`: called
 * with what a person should know, or NULL. NULL: no memory, or an argument that is none. */
struct pktpit_allreduce* pktpit_allreduce_open(const char* router, uint16_t port, uint64_t key,
                                               unsigned worker, const char* bind, const char* peers,
                                               unsigned join_timeout_ms, unsigned router_timeout_ms,
                                               void (*log)(const char*));
void pktpit_allreduce_close(struct pktpit_allreduce* worker);
/* 0, or a number of enum class Failure of allreduce.h. */
int pktpit_allreduce_join(struct pktpit_allreduce* worker);
int pktpit_allreduce_sum_int32(struct pktpit_allreduce* worker, const int32_t* in, int32_t* out,
                               size_t count);
/* Of a group of type bfp16. */
int pktpit_allreduce_sum_float(struct pktpit_allreduce* worker, const float* in, float* out, size_t count);
/* Of the last call that failed, until the next call. */
const char* pktpit_allreduce_message(const struct pktpit_allreduce* worker);
/* Bitmap of the workers that were lost by then. */
uint64_t pktpit_allreduce_lost(const struct pktpit_allreduce* worker);
/* 0 none, 1 by the router, 2 by the ring. */
int pktpit_allreduce_way(const struct pktpit_allreduce* worker);
unsigned pktpit_allreduce_epoch(const struct pktpit_allreduce* worker);
unsigned pktpit_allreduce_workers(const struct pktpit_allreduce* worker);

#ifdef __cplusplus
}
#endif

#endif
