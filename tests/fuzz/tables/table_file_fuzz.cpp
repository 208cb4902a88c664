// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a file, xz-compressed or not: never a crash, whatever the decoder makes of it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "fib/tables/table_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit;
    static const int file = memfd_create("fuzz", MFD_CLOEXEC);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
        std::abort();
    const auto result =
        fib::read_table_file(path, [](const Prefix&, std::string_view, size_t) { return Result<void>{}; });
    if (!result && (result.error().where.find(path) != 0 || result.error().message.empty())) std::abort();
    return 0;
}
