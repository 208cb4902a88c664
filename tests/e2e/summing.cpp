// SPDX-License-Identifier: BSD-3-Clause
// A worker of the aggregation service, for tests: sums vectors whose sums it knows, round after round, and
// says in a line of JSON each what has become of it. `--type int32 | bfp16`. Ends when so many rounds of one
// epoch were right; joins again when a worker is lost. Exit 1 for a wrong sum, 2 for a failure.
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "allreduce/allreduce.h"

namespace ar = pktpit::allreduce;

namespace {

uint64_t mixed(uint64_t worker, uint64_t round, uint64_t place) {
    const uint64_t once = (worker << 48 ^ round << 32 ^ place) * 0x9e3779b97f4a7c15U;
    return (once ^ once >> 29) * 0xbf58476d1ce4e5b9U;
}

// Any that differ for each worker, round and place, and use all 32 bits.
void make(int32_t& element, uint64_t worker, uint64_t round, uint64_t place) {
    element = static_cast<int32_t>(mixed(worker, round, place) >> 32);
}

// Integers that fit into the mantissas of 16 workers, whose sum is exact then.
void make(float& element, uint64_t worker, uint64_t round, uint64_t place) {
    element = static_cast<float>(static_cast<int>(mixed(worker, round, place) >> 40) % 2000);
}

int32_t added(int32_t one, int32_t other) {
    return static_cast<int32_t>(static_cast<uint32_t>(one) + static_cast<uint32_t>(other));
}

float added(float one, float other) {
    return one + other;
}

void say(const std::string& line) {
    std::printf("{%s}\n", line.c_str());
    std::fflush(stdout);
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
        parts.push_back(part);
    return parts;
}

// Several messages under way at a time; the sums of one are looked at while the next goes.
template <class Number>
ar::Outcome run(ar::Worker& worker, unsigned me, unsigned rounds, size_t elements, unsigned pause_ms,
                int& wrong) {
    constexpr size_t depth = 2;
    std::vector<std::vector<Number>> in(depth, std::vector<Number>(elements)), out = in;
    std::vector<uint64_t> begun(depth);
    const auto begin = [&](unsigned round) {
        auto& vector = in[round % depth];
        for (size_t i = 0; i < elements; i++)
            make(vector[i], me, round, i);
        begun[round % depth] =
            worker.begin(std::span<const Number>(vector), std::span<Number>(out[round % depth]));
    };
    begin(0);
    for (unsigned round = 0; round < rounds; round++) {
        if (round + 1 < rounds) begin(round + 1);
        if (auto done = worker.wait(begun[round % depth]); !done) return done;
        const auto& sums = out[round % depth];
        for (size_t i = 0; i < elements; i++) {
            Number sum = 0;
            for (unsigned one = 0; one < worker.workers(); one++) {
                Number element = 0;
                make(element, one, round, i);
                sum = added(sum, element);
            }
            wrong += sums[i] != sum;
        }
        say("\"event\": \"round\", \"round\": " + std::to_string(round) +
            ", \"wrong\": " + std::to_string(wrong));
        if (pause_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    return {};
}

}  // namespace

int main(int count, char** words) {
    std::map<std::string, std::string> given;
    for (int i = 1; i + 1 < count; i += 2)
        given[words[i]] = words[i + 1];
    const auto number = [&](const char* name, double otherwise) {
        return given.contains(name) ? std::stod(given.at(name)) : otherwise;
    };
    ar::Options options;
    options.router = given["--router"];
    options.port = static_cast<uint16_t>(number("--port", 5005));
    options.key = std::stoull(given["--key"], nullptr, 16);
    options.worker = static_cast<unsigned>(number("--worker", 0));
    options.bind = given["--bind"];
    options.lose = number("--lose", 0);
    options.duplicate = number("--duplicate", 0);
    options.delay = number("--delay", 0);
    options.seed = options.worker + 1;
    options.peers = split(given["--peers"]);
    options.router_timeout = std::chrono::milliseconds(static_cast<int>(number("--router-timeout-ms", 5000)));
    options.log = [](std::string_view text) {
        say("\"event\": \"log\", \"text\": \"" + std::string(text) + "\"");
    };
    const auto rounds = static_cast<unsigned>(number("--rounds", 10));
    const auto elements = static_cast<size_t>(number("--elements", 100000));
    const auto pause_ms = static_cast<unsigned>(number("--pause-ms", 0));

    ar::Worker worker(options);
    int wrong = 0;
    for (;;) {
        auto outcome = worker.join();
        const auto begun = std::chrono::steady_clock::now();
        if (outcome) {
            say("\"event\": \"joined\", \"epoch\": " + std::to_string(worker.epoch()) + ", \"way\": \"" +
                (worker.way() == ar::Way::ring ? "ring" : "router") + "\"");
            const auto sums = given["--type"] == "bfp16" ? run<float> : run<int32_t>;
            outcome = sums(worker, options.worker, rounds, elements, pause_ms, wrong);
        }
        const auto counts = worker.counts();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        if (outcome) {
            say("\"event\": \"done\", \"wrong\": " + std::to_string(wrong) + ", \"seconds\": " +
                std::to_string(took.count()) + ", \"sent\": " + std::to_string(counts.sent) +
                ", \"again\": " + std::to_string(counts.again) + ", \"results\": " +
                std::to_string(counts.results) + ", \"repeated\": " + std::to_string(counts.repeated));
            return wrong != 0;
        }
        std::string lost;
        for (const unsigned one : outcome.lost)
            lost += (lost.empty() ? "" : ", ") + std::to_string(one);
        say("\"event\": \"failed\", \"message\": \"" + outcome.message + "\", \"lost\": [" + lost + "]");
        if (outcome.failure != ar::Failure::worker_lost) return 2;
    }
}
