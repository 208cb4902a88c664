// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/dpdk/eal.h"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_version.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

/// What DPDK logs goes to memory, and is shown only when it fails.
class Log {
  public:
    Log() : stream_(open_memstream(&text_, &size_)) {
        if (stream_) rte_openlog_stream(stream_);
    }
    std::string text() const {
        if (stream_) std::fflush(stream_);
        return text_ ? std::string(text_, size_) : "";
    }

  private:
    // Never freed: DPDK logs until the process ends.
    char* text_ = nullptr;
    size_t size_ = 0;
    FILE* stream_ = nullptr;
};

}  // namespace

Eal::Eal(const EalPlan& plan) {
    static Log log;
    // Without --force-max-simd-bitwidth the AVX-512 lookups are refused.
    std::vector<std::string> words{"bench_fib",
                                   "-l",
                                   std::to_string(plan.cpu),
                                   "--no-pci",
                                   "--no-telemetry",
                                   "--force-max-simd-bitwidth=512",
                                   "--log-level=*:4"};
    if (plan.huge_pages) {
        words.emplace_back("--in-memory");
    } else {  // what --in-memory would refuse, and all of the memory at once
        words.insert(words.end(),
                     {"--no-huge", "--no-shconf", "-m", std::to_string((plan.memory >> 20) + 1)});
    }
    std::vector<char*> arguments;
    arguments.reserve(words.size());
    for (std::string& word : words)
        arguments.push_back(word.data());
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0)
        throw harness::Failure(fmt::format("rte_eal_init: {}\n{}", rte_strerror(rte_errno), log.text()));
}

Eal::~Eal() {
    rte_eal_cleanup();
}

std::string Eal::version() {
    return rte_version();
}

}  // namespace pktpit::bench::fib
