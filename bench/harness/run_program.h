// SPDX-License-Identifier: BSD-3-Clause
/// main() of a benchmark: what all of them do around parsing and measuring.
#pragma once

#include <cstdio>
#include <exception>
#include <variant>

#include "bench/harness/common_options.h"

namespace pktpit::bench::harness {

/// The process's exit code; 1 where something throws, which is told.
template <typename Options>
int run_program(const char* name, Parsed<Options> (*parse)(int, char**), int (*run)(const Options&), int argc,
                char** argv) {
    try {
        const Parsed<Options> parsed = parse(argc, argv);
        const Options* options = std::get_if<Options>(&parsed);
        return options ? run(*options) : std::get<int>(parsed);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s: %s\n", name, problem.what());
        return 1;
    }
}

}  // namespace pktpit::bench::harness
