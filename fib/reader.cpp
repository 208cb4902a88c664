// SPDX-License-Identifier: BSD-3-Clause
#include "fib/reader.h"

#include <cassert>
#include <cstring>

namespace pktpit::fib {
namespace {

struct Variant {
    CpuVariant variant;
    std::string_view name;
    bool present;
    pp_batch4* batch4;
    pp_batch6* batch6;
};

/// Widest last.
const std::array<Variant, PKTPIT_FIB_VARIANTS>& variants() {
    static const std::array<Variant, PKTPIT_FIB_VARIANTS> all = {{
        {CpuVariant::scalar, "scalar", true, pp_batch4_scalar, pp_batch6_scalar},
#if PKTPIT_FIB_VARIANTS > 1
        {CpuVariant::avx2, "avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"),
         pp_batch4_avx2, pp_batch6_avx2},
        {CpuVariant::avx512, "avx512",
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("bmi2"),
         pp_batch4_avx512, pp_batch6_avx512},
#endif
    }};
    return all;
}

const Variant* find(CpuVariant variant) {
    for (const Variant& candidate : variants())
        if (candidate.variant == variant) return &candidate;
    return nullptr;
}

}  // namespace

std::string_view to_string(CpuVariant variant) {
    switch (variant) {
        case CpuVariant::scalar:
            return "scalar";
        case CpuVariant::avx2:
            return "avx2";
        case CpuVariant::avx512:
            return "avx512";
    }
    return "unknown";
}

bool cpu_has(CpuVariant variant) {
    const Variant* found = find(variant);
    return found && found->present;
}

CpuVariant best_cpu_variant() {
    CpuVariant best = CpuVariant::scalar;
    for (const Variant& candidate : variants())
        if (candidate.present) best = candidate.variant;
    return best;
}

Result<CpuVariant> parse_cpu_variant(std::string_view name) {
    if (name == "auto") return best_cpu_variant();
    for (const CpuVariant variant : {CpuVariant::scalar, CpuVariant::avx2, CpuVariant::avx512}) {
        if (name != to_string(variant)) continue;
        if (cpu_has(variant)) return variant;
        return fail({}, "this CPU has no " + std::string(name) + " instructions", {},
                    "\"auto\" takes the best that there is: " + std::string(to_string(best_cpu_variant())));
    }
    return fail({}, "\"" + std::string(name) + "\" is no variant of the lookup",
                "auto, scalar, avx2 or avx512");
}

namespace {

pp_fib_geometry geometry_in(std::span<const std::byte> image) {
    pp_fib_geometry geometry;
    assert(image.size() >= sizeof geometry);
    std::memcpy(&geometry, image.data(), sizeof geometry);
    return geometry;
}

}  // namespace

FibReader::FibReader(std::span<const std::byte> image, CpuVariant variant)
    : FibReader(image.data(), geometry_in(image), variant) {}

FibReader::FibReader(const std::byte* image, const pp_fib_geometry& geometry, CpuVariant variant)
    : image_(image), geometry_(geometry), variant_(variant) {
    assert(cpu_has(variant));
    batch4_ = find(variant)->batch4;
    batch6_ = find(variant)->batch6;
    nodes_ = reinterpret_cast<const unsigned char*>(image_) + geometry_.node_offset;
}

GroupId FibReader::lookup(uint32_t address, TableId table) const {
    return pp_fib_lookup4_in(image_, &geometry_, table, address);
}

GroupId FibReader::lookup(const Ip6Bytes& address, TableId table) const {
    return pp_fib_lookup6_in(image_, &geometry_, table, address.data());
}

void FibReader::lookup_batch(std::span<const uint32_t> addresses, std::span<GroupId> groups,
                             TableId table) const {
    assert(addresses.size() == groups.size());
    if (addresses.empty()) return;  // an empty span's data may be null
    const pp_batch batch{image_, &geometry_, nodes_,
                         pp_fib_load32(image_, pp_fib_table_offset(&geometry_, table))};
    batch4_(&batch, addresses.data(), groups.data(), addresses.size());
}

void FibReader::lookup_batch(std::span<const Ip6Bytes> addresses, std::span<GroupId> groups,
                             TableId table) const {
    assert(addresses.size() == groups.size());
    if (addresses.empty()) return;  // an empty span's data may be null
    const pp_batch batch{image_, &geometry_, nodes_,
                         pp_fib_load32(image_, pp_fib_table_offset(&geometry_, table) + 4)};
    batch6_(&batch, addresses.data()->data(), groups.data(), addresses.size());
}

}  // namespace pktpit::fib
