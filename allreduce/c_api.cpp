// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/c_api.h"

#include <exception>
#include <new>
#include <sstream>

#include "allreduce/allreduce.h"

namespace ar = pktpit::allreduce;

struct pktpit_allreduce {
    explicit pktpit_allreduce(ar::Options options) : worker(std::move(options)) {}
    int keep(ar::Outcome outcome) {
        last = std::move(outcome);
        return static_cast<int>(last.failure);
    }
    ar::Worker worker;
    ar::Outcome last;
};

namespace {

/// No exception leaves for another language.
template <class Call>
int guarded(pktpit_allreduce* worker, const Call& call) {
    try {
        return worker->keep(call());
    } catch (const std::exception& error) {
        return worker->keep({ar::Failure::setup, error.what(), {}});
    }
}

}  // namespace

pktpit_allreduce* pktpit_allreduce_open(const char* router, uint16_t port, uint64_t key, unsigned worker,
                                        const char* bind, const char* peers, unsigned join_timeout_ms,
                                        unsigned router_timeout_ms, void (*log)(const char*)) {
    if (!router || !bind || !peers) return nullptr;
    try {
        ar::Options options;
        options.router = router;
        options.port = port;
        options.key = key;
        options.worker = worker;
        options.bind = bind;
        options.join_timeout = std::chrono::milliseconds(join_timeout_ms);
        options.router_timeout = std::chrono::milliseconds(router_timeout_ms);
        std::istringstream all(peers);
        for (std::string peer; std::getline(all, peer, ',');)
            options.peers.push_back(peer);
        if (log) options.log = [log](std::string_view text) { log(std::string(text).c_str()); };
        return new pktpit_allreduce(std::move(options));
    } catch (const std::exception&) {
        return nullptr;
    }
}

void pktpit_allreduce_close(pktpit_allreduce* worker) {
    delete worker;
}

int pktpit_allreduce_join(pktpit_allreduce* worker) {
    return guarded(worker, [&] { return worker->worker.join(); });
}

int pktpit_allreduce_sum_int32(pktpit_allreduce* worker, const int32_t* in, int32_t* out, size_t count) {
    return guarded(worker, [&] {
        return worker->worker.sum(std::span<const int32_t>(in, count), std::span<int32_t>(out, count));
    });
}

int pktpit_allreduce_sum_float(pktpit_allreduce* worker, const float* in, float* out, size_t count) {
    return guarded(worker, [&] {
        return worker->worker.sum(std::span<const float>(in, count), std::span<float>(out, count));
    });
}

const char* pktpit_allreduce_message(const pktpit_allreduce* worker) {
    return worker->last.message.c_str();
}

uint64_t pktpit_allreduce_lost(const pktpit_allreduce* worker) {
    uint64_t bits = 0;
    for (const unsigned one : worker->last.lost)
        bits |= uint64_t{1} << one;
    return bits;
}

int pktpit_allreduce_way(const pktpit_allreduce* worker) {
    return static_cast<int>(worker->worker.way());
}

unsigned pktpit_allreduce_epoch(const pktpit_allreduce* worker) {
    return worker->worker.epoch();
}

unsigned pktpit_allreduce_workers(const pktpit_allreduce* worker) {
    return worker->worker.workers();
}
