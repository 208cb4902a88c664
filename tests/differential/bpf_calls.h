// SPDX-License-Identifier: BSD-3-Clause
/// Calls to the kernel about eBPF, whose failure is an exception.
#pragma once

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace pktpit::test {

inline void check(int result, const char* what) {
    if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}

/// A map's memory, until munmap().
inline std::span<std::byte> mapped(int map, size_t bytes, const char* what) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    check(memory == MAP_FAILED ? -errno : 0, what);
    return {static_cast<std::byte*>(memory), bytes};
}

/// What came of one run of a program: its value, and the packet's size, which is in `out`.
struct TestRun {
    uint32_t value, bytes;
};
inline TestRun test_run(int program, std::span<const std::byte> in, std::span<std::byte> out) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = in.data();
    options.data_size_in = static_cast<uint32_t>(in.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<uint32_t>(out.size());
    options.repeat = 1;
    check(bpf_prog_test_run_opts(program, &options), "BPF_PROG_TEST_RUN");
    return {options.retval, options.data_size_out};
}

}  // namespace pktpit::test
