// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/hugepages.h"

#include <cstdint>
#include <fstream>

namespace pktpit::bench::harness {
namespace {

size_t read_number(const std::string& path) {
    size_t number = 0;
    std::ifstream(path) >> number;
    return number;
}

void write_number(const std::string& path, size_t number) {
    std::ofstream(path) << number << std::flush;
}

}  // namespace

HugepageReservation::HugepageReservation(size_t bytes, const std::string& directory)
    : pages_(
          [&]() -> int64_t {
              const std::string total = directory + "/nr_hugepages";
              const size_t before = read_number(total);
              const size_t needed = (bytes + hugepage_bytes - 1) / hugepage_bytes;
              const size_t wanted = pages_to_add(needed, read_number(directory + "/free_hugepages"));
              if (wanted == 0) return 0;
              write_number(total, before + wanted);
              const size_t after = read_number(total);
              const size_t got = after > before ? after - before : 0;
              if (got >= wanted) return static_cast<int64_t>(got);
              // The kernel gives as many as it finds: fewer are of no use.
              if (got > 0) write_number(total, pages_to_leave(after, got));
              return refused;
          },
          [&](int64_t added) {
              const std::string total = directory + "/nr_hugepages";
              if (added > 0)
                  write_number(total, pages_to_leave(read_number(total), static_cast<size_t>(added)));
          }) {}

}  // namespace pktpit::bench::harness
