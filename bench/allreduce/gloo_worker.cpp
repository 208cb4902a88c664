// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by Gloo over TCP: bench_allreduce_gloo DEVICE FOLDER RANK RANKS ring|bcube BYTES:ROUNDS… FOLDER
// is where the ranks find each other, empty at first.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <memory>

#include "bench/allreduce/workload.h"

namespace {

int run(std::span<char* const> words) {
    if (words.size() < 7) {
        std::fprintf(stderr, "usage: %s DEVICE FOLDER RANK RANKS ring|bcube BYTES:ROUNDS...\n", words[0]);
        return 2;
    }
    const auto rank = static_cast<unsigned>(std::stoul(words[3]));
    const auto ranks = static_cast<unsigned>(std::stoul(words[4]));
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    const auto algorithm = std::string(words[5]) == "bcube" ? Algorithm::BCUBE : Algorithm::RING;
    gloo::transport::tcp::attr attributes;
    attributes.iface = words[1];
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(words[2]);
    auto context =
        std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), static_cast<int>(ranks));
    context->setTimeout(std::chrono::minutes(5));
    context->connectFullMesh(store, device);
    const auto sum = [&](std::span<int32_t> vector) {
        gloo::AllreduceOptions options(context);
        options.setOutput(vector.data(), vector.size());
        options.setAlgorithm(algorithm);
        options.setReduceFunction([](void* to, const void* one, const void* other, size_t count) {
            gloo::sum<int32_t>(to, one, other, count);
        });
        gloo::allreduce(options);
        return true;
    };
    return pktpit::bench::allreduce::measure<int32_t>(
        rank, ranks, pktpit::bench::allreduce::steps_of(words.subspan(6)), sum);
}

}  // namespace

int main(int count, char** words) {
    return pktpit::bench::allreduce::run_worker(count, words, run);
}
