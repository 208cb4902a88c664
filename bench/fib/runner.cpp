// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/runner.h"

#include <algorithm>
#include <optional>

#include "bench/harness/failure.h"
#include "bench/harness/progress.h"

namespace pktpit::bench::fib {
namespace {

class Collector : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            if (run.error_occurred) {
                error = run.run_name.function_name + ": " + run.error_message;
                continue;
            }
            Sample sample;
            for (const auto& [name, counter] : run.counters)
                sample[name] = counter.value;
            sample["seconds"] = run.real_accumulated_time / static_cast<double>(run.iterations);
            samples[run.run_name.function_name].push_back(std::move(sample));
        }
    }

    std::map<std::string, std::vector<Sample>> samples;
    std::optional<std::string> error;
};

/// A line every 5 % is enough, above all where stderr is a file.
class Steps {
  public:
    explicit Steps(size_t runs) : runs_(runs), lines_(std::min<size_t>(runs, 20)), progress_(lines_) {}
    void done(const std::string& name) {
        done_++;
        if (done_ * lines_ / runs_ > told_) {
            told_++;
            progress_.step(name);
        }
    }

  private:
    size_t runs_, lines_, done_ = 0, told_ = 0;
    harness::Progress progress_;
};

/// What is being measured: Google Benchmark takes functions without state, and numbers as their arguments.
struct {
    const std::vector<Measurement>* group = nullptr;
    Steps* steps = nullptr;
} current;

void run_member(benchmark::State& state) {
    const Measurement& measurement = (*current.group)[static_cast<size_t>(state.range(0))];
    measurement.run(state);
    current.steps->done(measurement.name);
}

}  // namespace

void initialize_google_benchmark(const Options& options) {
    std::vector<std::string> words{"bench_fib", "--benchmark_enable_random_interleaving=true"};
    words.insert(words.end(), options.benchmark_flags.begin(), options.benchmark_flags.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size());
    for (std::string& word : words)
        arguments.push_back(word.data());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    if (count > 1) throw harness::Failure(std::string("Google Benchmark does not know ") + arguments[1]);
}

std::map<std::string, std::vector<Sample>> run_interleaved(
    const std::vector<std::vector<Measurement>>& groups, unsigned rounds) {
    size_t runs = 0;
    for (const auto& group : groups)
        runs += group.size() * rounds;
    if (runs == 0) return {};
    Steps steps(runs);
    Collector collector;
    for (unsigned round = 0; round < rounds; round++) {
        for (const auto& group : groups) {
            current = {&group, &steps};
            for (size_t i = 0; i < group.size(); i++)
                benchmark::RegisterBenchmark(group[i].name.c_str(), run_member)
                    ->Arg(static_cast<int64_t>(i))
                    ->UseManualTime()
                    ->Iterations(group[i].iterations);
            benchmark::RunSpecifiedBenchmarks(&collector);
            benchmark::ClearRegisteredBenchmarks();
            if (collector.error) throw harness::Failure(*collector.error);
        }
    }
    return std::move(collector.samples);
}

}  // namespace pktpit::bench::fib
