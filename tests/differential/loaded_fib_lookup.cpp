// SPDX-License-Identifier: BSD-3-Clause
#include "tests/differential/loaded_fib_lookup.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "fib_lookup.skel.h"
#include "tests/differential/bpf_calls.h"
#include "tests/differential/fib_lookup.h"

namespace pktpit::test {
namespace {

void run(const fib_lookup& skeleton, pp_fib_lookups& lookups) {
    const auto packet = std::as_writable_bytes(std::span(&lookups, 1));
    if (test_run(bpf_program__fd(skeleton.progs.fib_lookup), packet, packet).value != XDP_PASS)
        throw std::runtime_error("the lookup program did not come to its end");
}

}  // namespace

bool LoadedFibLookup::permitted() {
    return geteuid() == 0;
}

void LoadedFibLookup::SkeletonDelete::operator()(fib_lookup* skeleton) const {
    fib_lookup::destroy(skeleton);
}

LoadedFibLookup::LoadedFibLookup(const pp_fib_geometry& geometry) : skeleton_(fib_lookup::open()) {
    if (!skeleton_) throw std::runtime_error("the lookup program does not open");
    std::memcpy(&skeleton_->rodata->geometry, &geometry, sizeof(geometry));
    check(bpf_map__set_value_size(skeleton_->maps.fib_image, static_cast<uint32_t>(geometry.image_bytes)),
          "value size");
    check(fib_lookup::load(skeleton_.get()), "the lookup program does not load");
    memory_ = mapped(bpf_map__fd(skeleton_->maps.fib_image), geometry.image_bytes, "mmap of the image");
}

LoadedFibLookup::~LoadedFibLookup() {
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

void LoadedFibLookup::lookup_batch(std::span<const uint32_t> addresses, std::span<fib::GroupId> groups,
                                   fib::TableId table) const {
    for (size_t done = 0; done < addresses.size(); done += FIB_LOOKUPS4) {
        const size_t count = std::min<size_t>(FIB_LOOKUPS4, addresses.size() - done);
        pp_fib_lookups lookups{};
        lookups.family = 4;
        lookups.table = table;
        std::copy_n(addresses.begin() + static_cast<ptrdiff_t>(done), count, lookups.addresses4);
        run(*skeleton_, lookups);
        std::copy_n(lookups.addresses4, count, groups.begin() + static_cast<ptrdiff_t>(done));
    }
}

void LoadedFibLookup::lookup_batch(std::span<const fib::Ip6Bytes> addresses, std::span<fib::GroupId> groups,
                                   fib::TableId table) const {
    for (size_t done = 0; done < addresses.size(); done += FIB_LOOKUPS6) {
        const size_t count = std::min<size_t>(FIB_LOOKUPS6, addresses.size() - done);
        pp_fib_lookups lookups{};
        lookups.family = 6;
        lookups.table = table;
        for (size_t i = 0; i < count; i++)
            std::memcpy(lookups.addresses6[i], addresses[done + i].data(), 16);
        run(*skeleton_, lookups);
        for (size_t i = 0; i < count; i++)
            std::memcpy(&groups[done + i], lookups.addresses6[i], sizeof(fib::GroupId));
    }
}

}  // namespace pktpit::test
