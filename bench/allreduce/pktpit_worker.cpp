// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by Pktpit's library and router: bench_allreduce_pktpit ROUTER[,OWN] PORT KEY WORKER LOSS
// int32|bfp16 BYTES:ROUNDS… OWN: address to send from. LOSS: the share of datagrams that the worker itself
// drops, of those that it sends and of those that it gets.
#include <exception>

#include "allreduce/allreduce.h"
#include "bench/allreduce/workload.h"

namespace {

namespace ar = pktpit::allreduce;

int run(std::span<char* const> words) {
    if (words.size() < 8) {
        std::fprintf(stderr, "usage: %s ROUTER[,OWN] PORT KEY WORKER LOSS int32|bfp16 BYTES:ROUNDS...\n",
                     words[0]);
        return 2;
    }
    ar::Options options;
    const std::string addresses = words[1];
    const size_t comma = addresses.find(',');
    options.router = addresses.substr(0, comma);
    if (comma != std::string::npos) options.bind = addresses.substr(comma + 1);
    options.port = static_cast<uint16_t>(std::stoul(words[2]));
    options.key = std::stoull(words[3], nullptr, 16);
    options.worker = static_cast<unsigned>(std::stoul(words[4]));
    options.lose = std::stod(words[5]);
    options.seed = options.worker + 1;
    options.router_timeout = std::chrono::seconds(10);
    ar::Worker worker(options);
    if (const auto joined = worker.join(); !joined) {
        std::fprintf(stderr, "join: %s\n", joined.message.c_str());
        return 2;
    }
    const auto sum = [&](auto vector) {
        const auto done =
            worker.sum(std::span<const typename decltype(vector)::element_type>(vector), vector);
        if (!done) std::fprintf(stderr, "sum: %s\n", done.message.c_str());
        return static_cast<bool>(done);
    };
    const auto steps = pktpit::bench::allreduce::steps_of(words.subspan(7));
    const bool floats = std::string(words[6]) != "int32";
    const int result =
        floats ? pktpit::bench::allreduce::measure<float>(options.worker, worker.workers(), steps, sum)
               : pktpit::bench::allreduce::measure<int32_t>(options.worker, worker.workers(), steps, sum);
    const auto counts = worker.counts();
    std::printf("{\"rank\": %u, \"sent\": %llu, \"again\": %llu}\n", options.worker,
                static_cast<unsigned long long>(counts.sent), static_cast<unsigned long long>(counts.again));
    return result;
}

}  // namespace

int main(int count, char** words) {
    return pktpit::bench::allreduce::run_worker(count, words, run);
}
