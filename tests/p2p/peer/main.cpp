// SPDX-License-Identifier: BSD-3-Clause
// The simulated peer device of tests/p2p, as a process: no hardware and no part of the product. Its memory is
// the file behind an emulated device's BAR; it reaches NICs' registers by QEMU's qtest socket.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "tests/p2p/peer/engine.h"
#include "tests/p2p/peer/qtest.h"

namespace {

using namespace pktpit;

std::span<std::byte> map(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat about {};
    if (fstat(file.get(), &about) != 0 || about.st_size < 1 << 20) return {};
    const auto size = static_cast<size_t>(about.st_size);
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) return {};
    return {static_cast<std::byte*>(at), size};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"A simulated peer device for tests/p2p. It is no hardware: its bus is an emulator's."};
    std::string memory_path, socket_path;
    std::vector<uint64_t> reach;
    app.add_option("--memory", memory_path, "the file behind the device's BAR")->required();
    app.add_option("--qtest", socket_path, "QEMU's qtest socket")->required();
    app.add_option("--reach", reach, "bus address and bytes that it may write beside its own memory");
    CLI11_PARSE(app, argc, argv);

    // Whoever kills the test run leaves no device behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto memory = map(memory_path);
    auto bus = test_peer::Qtest::connect(socket_path);
    if (memory.empty() || !bus) {
        std::fprintf(stderr, "simulated peer: %s\n",
                     memory.empty() ? "no memory to map" : bus.error().to_string().c_str());
        return 1;
    }
    std::vector<test_peer::Reach> reached;
    for (size_t i = 0; i + 1 < reach.size(); i += 2)
        reached.push_back({reach[i], reach[i + 1]});
    const auto engine = std::make_unique<test_peer::Engine>(memory, *bus, reached);
    uint64_t serial = 0;
    while (true) {
        const size_t frames = engine->turn();
        if (engine->serial() != serial) {
            serial = engine->serial();
            std::fprintf(stderr, "simulated peer: table %llu, %llu refused%s%s\n",
                         static_cast<unsigned long long>(serial),
                         static_cast<unsigned long long>(engine->refused()),
                         engine->refused() ? ", last: " : "", engine->refusal().c_str());
        }
        if (frames == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}
