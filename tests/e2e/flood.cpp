// SPDX-License-Identifier: BSD-3-Clause
// Sends frames out of a device as fast as the kernel takes them, without a socket: an XDP program run over
// live frames (BPF_PROG_RUN), which redirects each to the device. The queue that they arrive on is that of
// the CPU.
//
//   flood DEV CPU COUNT HEX...
//
// COUNT frames in all, those given as HEX in turn, some thousands of each at a time. Prints how many the
// kernel was asked to send: what the device's other end has no room for is lost there.

#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr uint32_t frames_per_call = 8192;
constexpr uint32_t batch = 64;  // of the 256 that a veth ring holds

[[noreturn]] void give_up(const char* what) {
    std::perror(what);
    std::exit(2);
}

long bpf(int command, bpf_attr& attributes) {
    return syscall(__NR_bpf, command, &attributes, sizeof attributes);
}

// return bpf_redirect(device, 0)
int redirecting_program(unsigned device) {
    bpf_insn code[4] = {};
    code[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
    code[0].dst_reg = 1;
    code[0].imm = static_cast<int>(device);
    code[1].code = BPF_ALU64 | BPF_MOV | BPF_K;
    code[1].dst_reg = 2;
    code[2].code = BPF_JMP | BPF_CALL;
    code[2].imm = BPF_FUNC_redirect;
    code[3].code = BPF_JMP | BPF_EXIT;
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_XDP;
    attributes.insns = reinterpret_cast<uintptr_t>(code);
    attributes.insn_cnt = 4;
    attributes.license = reinterpret_cast<uintptr_t>("GPL");
    const long program = bpf(BPF_PROG_LOAD, attributes);
    if (program < 0) give_up("load the program");
    return static_cast<int>(program);
}

std::vector<uint8_t> bytes_of(const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) give_up("usage: flood DEV CPU COUNT HEX...");
    const unsigned device = if_nametoindex(arguments[1]);
    if (device == 0) give_up(arguments[1]);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<size_t>(std::atoi(arguments[2])), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) give_up("sched_setaffinity");
    const uint64_t wanted = std::strtoull(arguments[3], nullptr, 10);
    const int program = redirecting_program(device);
    uint64_t sent = 0;
    for (int next = 4; sent < wanted; next = next + 1 < count ? next + 1 : 4) {
        std::vector<uint8_t> frame = bytes_of(arguments[next]);
        bpf_attr attributes{};
        attributes.test.prog_fd = static_cast<uint32_t>(program);
        attributes.test.data_in = reinterpret_cast<uintptr_t>(frame.data());
        attributes.test.data_size_in = static_cast<uint32_t>(frame.size());
        attributes.test.repeat = static_cast<uint32_t>(std::min<uint64_t>(frames_per_call, wanted - sent));
        attributes.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
        attributes.test.batch_size = batch;
        if (bpf(BPF_PROG_TEST_RUN, attributes) != 0) {
            if (errno == EINTR) continue;
            give_up("BPF_PROG_RUN");
        }
        sent += attributes.test.repeat;
    }
    std::printf("{\"sent\": %llu}\n", static_cast<unsigned long long>(sent));
    return 0;
}
