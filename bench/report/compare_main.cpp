// SPDX-License-Identifier: BSD-3-Clause
// bench_compare A.json B.json: what changed between two reports of the same benchmark.

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "bench/harness/failure.h"
#include "bench/report/compare.h"

namespace {

std::string read(const char* path) {
    std::ifstream file(path);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) pktpit::bench::harness::fail_errno(path);
    return text;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) {
        fmt::print(stderr, "usage: bench_compare BEFORE.json AFTER.json\n");
        return 2;
    }
    pktpit::bench::report::print_comparison(
        stdout, pktpit::bench::report::compare_reports(read(argv[1]), read(argv[2])));
    return 0;
} catch (const std::exception& problem) {
    fmt::print(stderr, "bench_compare: {}\n", problem.what());
    return 1;
}
