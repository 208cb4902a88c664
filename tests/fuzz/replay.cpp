// SPDX-License-Identifier: BSD-3-Clause
// Every fuzz target on every file of its corpus, without libFuzzer and sanitizers: each file as it is, its
// first half, and with one byte changed; then a few inputs that are the same for all. A target runs in a
// child process. When an input ends the child, the next child goes on behind that input.
//
// An input ends where a page without access begins, so a target that reads beyond it is ended as well.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

// The build writes it: TARGET(name) of each fuzz target.
#define TARGET(name) extern "C" int name(const uint8_t* data, size_t size);
#include "replay_targets.inc"
#undef TARGET

namespace {

namespace fs = std::filesystem;

constexpr unsigned deadline = 120;  // seconds for one input: a target that goes on for ever is ended

struct Target {
    const char* name;
    int (*run)(const uint8_t* data, size_t size);
};
#define TARGET(name) {#name, name},
constexpr Target targets[] = {
#include "replay_targets.inc"
};
#undef TARGET

struct Sample {
    std::string name;
    std::string bytes;
};

const fs::path sources = PKTPIT_FUZZ_SOURCES;

/// The corpus of a target in the order of its files' names, and what is made of it. Empty: there is none.
std::vector<Sample> samples_of(const Target& target) {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(sources / "corpus" / target.name, none))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<Sample> samples;
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(stream), {});
        const std::string name = file.filename();
        samples.push_back({name, bytes});
        samples.push_back({name + ", its first half", bytes.substr(0, bytes.size() / 2)});
        if (bytes.empty()) continue;
        const size_t changed = std::hash<std::string>{}(name) % bytes.size();
        samples.push_back({name + ", byte " + std::to_string(changed) + " inverted", bytes});
        samples.back().bytes[changed] = static_cast<char>(~bytes[changed]);
    }
    if (files.empty()) return {};
    for (const size_t size : {0, 1, 64, 4096})
        for (const char byte : {'\0', '\xff', 'a'})
            samples.push_back(
                {std::to_string(size) + " bytes of " + std::to_string(byte), std::string(size, byte)});
    return samples;
}

/// The number of the sample that a child is at, shared with it.
size_t& shared_number() {
    void* page = mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) std::abort();
    return *static_cast<size_t*>(page);
}

void run_at_the_end_of_a_page(const Target& target, const std::string& bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = (bytes.size() / page + 1) * page;
    void* memory = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(static_cast<char*>(memory) + room, page, PROT_NONE) != 0)
        std::abort();
    auto* const input = static_cast<uint8_t*>(memory) + room - bytes.size();
    std::copy(bytes.begin(), bytes.end(), input);
    target.run(input, bytes.size());
    munmap(memory, room + page);
}

std::string ending_of(int status) {
    if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        return number == SIGALRM ? "it goes on for ever"
                                 : "signal " + std::to_string(number) + ", " + strsignal(number);
    }
    return "exit " + std::to_string(WEXITSTATUS(status));
}

/// How many of its samples ended a child.
size_t replay(const Target& target, const std::vector<Sample>& samples) {
    static size_t& at = shared_number();
    size_t failed = 0;
    for (at = 0; at <= samples.size(); at++) {
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child < 0) std::abort();
        if (child == 0) {
            for (; at < samples.size(); at++) {
                alarm(deadline);
                run_at_the_end_of_a_page(target, samples[at].bytes);
            }
            std::exit(EXIT_SUCCESS);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child) std::abort();
        if (status == 0 && at == samples.size()) break;
        failed++;
        std::printf("FAILED: %s on %s: %s\n", target.name,
                    at < samples.size() ? samples[at].name.c_str() : "its way out",
                    ending_of(status).c_str());
    }
    return failed;
}

/// The sources of fuzz targets and the corpora that no target of this program belongs to.
std::vector<fs::path> left_out() {
    std::set<std::string> known;
    for (const Target& target : targets)
        known.insert(target.name);
    std::vector<fs::path> left;
    for (const auto& folder : fs::directory_iterator(sources)) {
        if (!folder.is_directory()) continue;
        const bool corpora = folder.path().filename() == "corpus";
        for (const auto& entry : fs::directory_iterator(folder))
            if ((corpora || entry.path().string().ends_with("_fuzz.cpp")) &&
                !known.contains(entry.path().stem()))
                left.push_back(entry);
    }
    return left;
}

}  // namespace

int main() {
    size_t inputs = 0;
    size_t failed = 0;
    for (const Target& target : targets) {
        const auto samples = samples_of(target);
        if (samples.empty()) {
            std::printf("FAILED: %s has no corpus: %s\n", target.name,
                        (sources / "corpus" / target.name).c_str());
            failed++;
        }
        failed += replay(target, samples);
        inputs += samples.size();
    }
    for (const auto& path : left_out()) {
        std::printf("FAILED: %s belongs to no target that CMake knows\n", path.c_str());
        failed++;
    }
    std::printf("%zu inputs, %zu targets, %zu failed\n", inputs, std::size(targets), failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
