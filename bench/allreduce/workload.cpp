// SPDX-License-Identifier: BSD-3-Clause
#include "bench/allreduce/workload.h"

#include <stdexcept>

namespace pktpit::bench::allreduce {

std::vector<Step> steps_of(std::span<char* const> words) {
    std::vector<Step> steps;
    for (const std::string word : words) {
        const size_t colon = word.find(':');
        if (colon == std::string::npos) throw std::invalid_argument(word + " is no BYTES:ROUNDS");
        steps.push_back(
            {std::stoul(word.substr(0, colon)), static_cast<unsigned>(std::stoul(word.substr(colon + 1)))});
    }
    return steps;
}

int run_worker(int count, char** words, int (*run)(std::span<char* const> words)) {
    try {
        return run({words, static_cast<size_t>(count)});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", words[0], error.what());
        return 2;
    }
}

}  // namespace pktpit::bench::allreduce
