// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/plain.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "bpf/dhcp_layout.h"
#include "bpf/filter_lookup.h"
#include "fib/lookup.h"
#include "router/forward/bytes.h"
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

constexpr uint64_t mac_bits = 0xffffffffffff;
/// With fewer addresses a lookup for each is cheaper than for a whole batch, which is always 64.
constexpr size_t few = 8;
/// What a group costs that is decided about apart is what a few packets cost that are each decided about.
constexpr int few_of_a_group = 4;
constexpr size_t ipv6_destination = ethernet_header + 24;

struct Checks {
    pp_plain_check* ipv4;
    pp_plain_check* ipv6;
};

Checks checks_of([[maybe_unused]] fib::CpuVariant variant) {
#if defined(__x86_64__)
    if (variant == fib::CpuVariant::avx512) return {pp_plain4_avx512, pp_plain6_avx512};
    if (variant == fib::CpuVariant::avx2) return {pp_plain4_avx2, pp_plain6_avx2};
#endif
    return {pp_plain4_scalar, pp_plain6_scalar};
}

uint64_t bits_of(size_t first, size_t count) {
    return count == 0 ? 0 : ~uint64_t{0} >> (64 - count) << first;
}

/// A sum that the compiler shall not take apart again, to add its parts for each packet.
const std::byte* in_register(const std::byte* sum) {
    asm("" : "+r"(sum));
    return sum;
}

/// Bit i: values[i] is `value`.
uint64_t equal_to(const std::array<uint32_t, PlainBatch::most>& values, uint32_t value) {
    uint64_t equal = 0;
#if defined(__x86_64__)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(value));
    for (size_t at = 0; at < values.size(); at += 16) {
        const auto* lanes = reinterpret_cast<const __m128i*>(&values[at]);
        const auto four = [&](int i) { return _mm_cmpeq_epi32(_mm_loadu_si128(lanes + i), wanted); };
        const __m128i sixteen =
            _mm_packs_epi16(_mm_packs_epi32(four(0), four(1)), _mm_packs_epi32(four(2), four(3)));
        equal |= uint64_t{static_cast<uint16_t>(_mm_movemask_epi8(sixteen))} << at;
    }
#else
    for (size_t at = 0; at < values.size(); at++)
        equal |= uint64_t{values[at] == value} << at;
#endif
    return equal;
}

template <class Visit>
void for_each_bit(uint64_t bits, Visit visit) {
    for (; bits != 0; bits &= bits - 1)
        visit(static_cast<size_t>(std::countr_zero(bits)));
}

}  // namespace

struct PlainForwarder::Scratch6 {
    template <class T>
    using Column = std::array<T, PlainBatch::most + PP_PLAIN_LANES>;
    // Of one run's candidates.
    Column<uint8_t*> bytes;
    alignas(64) Column<uint32_t> lengths{};
    alignas(64) Column<uint32_t> changed{};
    std::array<uint8_t, PlainBatch::most> candidates;  ///< indices in the batch
    // Of the whole batch's plain ones.
    std::array<fib::Ip6Bytes, PlainBatch::most> addresses;
    std::array<fib::GroupId, PlainBatch::most> groups;
    std::array<uint8_t, PlainBatch::most> of;  ///< index in the batch
    std::array<uint32_t, PlainBatch::most> rewritten;
    size_t count = 0;
};

PlainBatch::PlainBatch() {
    bytes_.fill(nothing());
}

pp_destination PlainBatch::destination(size_t index) const {
    if ((plain6_ >> index & 1) == 0) return {0, PP_DESTINATION_IPV4 | addresses4_[index]};
    const uint8_t* address = bytes_[index] + ipv6_destination;
    return {load_be64(address), load_be64(address + 8)};
}

PlainForwarder::PlainForwarder(const ImageView& image, fib::CpuVariant variant)
    : image_(image),
      reader_(image.base, *image.geometry, variant),
      check4_(checks_of(variant).ipv4),
      check6_(checks_of(variant).ipv6),
      six_(std::make_unique<Scratch6>()) {
    six_->bytes.fill(PlainBatch::nothing());
}

PlainForwarder::~PlainForwarder() = default;

uint64_t PlainForwarder::forward(PlainBatch& batch, std::span<const IngressRun> runs) {
    const auto* sources = reinterpret_cast<const uint32_t*>(image_.base + image_.geometry->globals_offset +
                                                            offsetof(pp_fib_globals, sources));
    batch.plain6_ = 0;
    counted_ = 0;
    if (image_.filters) read_filters();
    if (image_.guard) guard_ = image_.guard->load(std::memory_order_acquire);
    six_->count = 0;
    if (runs.empty()) return 0;
    const size_t total = size_t{runs.back().first} + runs.back().count;
    assert(total <= PlainBatch::most);
    total_ = total;
    // What an earlier batch left behind the last frame may be anybody's by now.
    // A whole vector: the last run's need not begin where one does.
    std::fill_n(&batch.bytes_[total], PP_PLAIN_LANES, PlainBatch::nothing());
    uint64_t plain4 = 0;
    stretches_ = 0;
    for (const IngressRun& run : runs) {
        const pp_fib_port* port = pp_fib_port_at(image_.base, image_.geometry, run.port);
        static_assert(offsetof(pp_fib_port, mac) == 0 && offsetof(pp_fib_port, interface) == 12);
        uint64_t own = image_word(port, 0);
        static_assert(offsetof(pp_fib_port, table) == 14);
        const uint64_t link = image_word(port, 1);
        const auto interface = static_cast<uint16_t>(link >> 32);
        if (run.count == 0 || interface == 0 || (own & 1) != 0) continue;
        if (filters_.view && has_filter(interface, false)) [[unlikely]]
            continue;
        if (guard_ && is_guarded(interface)) [[unlikely]]
            continue;
        const bool awaits_dhcp = (own >> 48 & PP_PORT_AWAITS_DHCP) != 0;
        own &= mac_bits;
        note_table(static_cast<uint16_t>(link >> 48), run);
        const pp_plain_run check{&batch.bytes_[run.first],
                                 &batch.frame_lengths_[run.first],
                                 batch.verified_ >> run.first,
                                 own,
                                 sources,
                                 run.count,
                                 &batch.addresses4_[run.first],
                                 &batch.changed_[run.first]};
        uint64_t found = check4_(&check) << run.first;
        if (awaits_dhcp) [[unlikely]]
            found &= ~to_dhcp_clients(batch, found);
        plain4 |= found;
        if (const uint64_t others = bits_of(run.first, run.count) & ~found) check6(batch, run, check, others);
    }
    longest_ = *std::max_element(batch.frame_lengths_.begin(), batch.frame_lengths_.begin() + total);
    uint64_t forwarded = 0;
    if (plain4 != 0) {
        // What stands behind the batch's addresses is of an earlier one: as good as any to look up.
        const size_t count = total > few ? PlainBatch::most : total;
        if (stretches_ == 1)
            reader_.lookup_batch(std::span<const uint32_t>(batch.addresses4_).first(count),
                                 std::span(groups_).first(count), stretch_[0].table);
        else
            look_up_stretches4(batch);
        forwarded = decide<false>(batch, plain4);
    }
    if (six_->count != 0) batch.plain6_ = decide<true>(batch, look_up6(batch));
    return forwarded | batch.plain6_;
}

/// Those to a DHCP client's port, which may be the host's.
uint64_t PlainForwarder::to_dhcp_clients(const PlainBatch& batch, uint64_t ipv4) {
    constexpr size_t udp = ethernet_header + 20;
    uint64_t found = 0;
    for_each_bit(ipv4, [&](size_t index) {
        const uint8_t* frame = batch.bytes_[index];
        if (batch.slices_[index] >= udp + 4 && frame[ethernet_header + 9] == PP_IPPROTO_UDP &&
            load_be16(frame + udp + 2) == PP_DHCP_CLIENT_PORT)
            found |= uint64_t{1} << index;
    });
    return found;
}

void PlainForwarder::read_filters() {
    filters_.view = image_.filters->load(std::memory_order_acquire);
    if (const FilterView* view = filters_.view)
        filters_.half = pp_filter_half(view->block, view->shape, pp_filter_current(view->block));
}

bool PlainForwarder::is_guarded(uint16_t interface) const {
    return rpf_of(*guard_, interface) != PP_RPF_OFF || bucket_of(*guard_, interface) != 0;
}

bool PlainForwarder::has_filter(uint16_t interface, bool out) const {
    return pp_filter_of(filters_.half, filters_.view->shape, interface, out ? 1 : 0, 0) != 0;
}

void PlainForwarder::check6(const PlainBatch& batch, const IngressRun& run, const pp_plain_run& check4,
                            uint64_t others) {
    Scratch6& six = *six_;
    pp_plain_run check = check4;
    check.destinations = nullptr;
    check.changed = six.changed.data();
    if (others == bits_of(run.first, run.count) && all_readable6(batch)) {
        for_each_bit(check6_(&check), [&](size_t at) {
            note6(batch.bytes_[run.first + at], run.first + at, six.changed[at]);
        });
        return;
    }
    uint32_t count = 0;
    for_each_bit(others, [&](size_t index) {
        uint8_t* frame = batch.bytes_[index];
        six.bytes[count] = frame;
        six.lengths[count] = batch.frame_lengths_[index];
        six.candidates[count] = static_cast<uint8_t>(index);
        count += batch.slices_[index] >= PP_PLAIN_BYTES6 && load_be16(frame + 12) == ethertype_ipv6 ? 1 : 0;
    });
    if (count == 0) return;
    // A frame that is no candidate may end before what is read of those behind the last one.
    std::fill_n(&six.bytes[count], PP_PLAIN_LANES, PlainBatch::nothing());
    check.frames = six.bytes.data();
    check.lengths = six.lengths.data();
    check.count = count;
    for_each_bit(check6_(&check),
                 [&](size_t at) { note6(six.bytes[at], six.candidates[at], six.changed[at]); });
}

// Frames behind a run are read, too: so those of the whole batch are asked.
bool PlainForwarder::all_readable6(const PlainBatch& batch) const {
    uint32_t shorter = 0;
    for (size_t index = 0; index < total_; index++)
        shorter |= batch.slices_[index] - uint32_t{PP_PLAIN_BYTES6};
    return shorter >> 31 == 0;
}

void PlainForwarder::note6(const uint8_t* frame, size_t index, uint32_t changed) {
    Scratch6& six = *six_;
    std::memcpy(six.addresses[six.count].data(), frame + ipv6_destination, sizeof(fib::Ip6Bytes));
    six.rewritten[six.count] = changed;
    six.of[six.count++] = static_cast<uint8_t>(index);
}

// Those of neighbouring runs that have the same table are looked up at once: mostly the whole batch.
void PlainForwarder::note_table(uint16_t table, const IngressRun& run) {
    const auto end = static_cast<uint16_t>(run.first + run.count);
    if (stretches_ != 0 && stretch_[stretches_ - 1].table == table)
        stretch_[stretches_ - 1].end = end;
    else
        stretch_[stretches_++] = {table, end};
}

void PlainForwarder::look_up_stretches4(const PlainBatch& batch) {
    size_t first = 0;
    for (size_t at = 0; at < stretches_; at++) {
        const auto [table, end] = stretch_[at];
        reader_.lookup_batch(std::span<const uint32_t>(batch.addresses4_).subspan(first, end - first),
                             std::span(groups_).subspan(first, end - first), table);
        first = end;
    }
}

uint64_t PlainForwarder::look_up6(PlainBatch& batch) {
    Scratch6& six = *six_;
    size_t first = 0;
    for (size_t at = 0; at < stretches_; at++) {
        const auto [table, end_in_batch] = stretch_[at];
        size_t end = first;
        if (at + 1 == stretches_)
            end = six.count;
        else
            while (end < six.count && six.of[end] < end_in_batch)
                end++;
        if (end != first)
            reader_.lookup_batch(std::span<const fib::Ip6Bytes>(six.addresses).subspan(first, end - first),
                                 std::span(six.groups).subspan(first, end - first), table);
        first = end;
    }
    uint64_t which = 0;
    for (size_t at = 0; at < six.count; at++) {
        const uint8_t index = six.of[at];
        groups_[index] = six.groups[at];
        batch.changed_[index] = six.rewritten[at];
        which |= uint64_t{1} << index;
    }
    return which;
}

// Of a group of several. Apart, so that the loop below keeps what it needs in registers.
template <bool Ipv6>
[[gnu::noinline, gnu::flatten]] uint32_t PlainForwarder::member(const PlainBatch& batch, size_t index,
                                                                uint64_t members) const {
    const size_t seen = std::min<size_t>(batch.slices_[index], PP_SLICE_BYTES);
    const Bytes packet(batch.bytes_[index] + ethernet_header, seen - ethernet_header);
    const uint64_t seed = pp_fib_hash_seed(image_.base, image_.geometry);
    const uint32_t hash = Ipv6 ? flow_hash_ipv6(packet, seed) : flow_hash_ipv4(packet, seed);
    return pp_fib_bucket(image_.base, image_.geometry, PP_FIB_GROUP_FIRST(members),
                         PP_FIB_GROUP_BITS(members), hash);
}

// Most batches have few next hops. Packets of one group are decided about once, and then only rewritten; the
// first group that has few packets says that it is not worth it in this batch.
template <bool Ipv6>
uint64_t PlainForwarder::decide(PlainBatch& batch, uint64_t which) {
    uint64_t forwarded = 0;
    while (which != 0) {
        const uint64_t its = which & equal_to(groups_, groups_[static_cast<size_t>(std::countr_zero(which))]);
        if (std::popcount(its) < few_of_a_group) return forwarded | decide_each<Ipv6>(batch, which);
        forwarded |= decide_group<Ipv6>(batch, its);
        which &= ~its;
    }
    return forwarded;
}

// All of one group. What is not alike to the last bit for all of them is left to decide_each().
template <bool Ipv6>
uint64_t PlainForwarder::decide_group(PlainBatch& batch, uint64_t its) {
    const pp_fib_geometry& geometry = *image_.geometry;
    const auto group = groups_[static_cast<size_t>(std::countr_zero(its))];
    const uint64_t members =
        image_word(image_.base + geometry.group_offset, group & (geometry.group_count - 1));
    if (PP_FIB_GROUP_BITS(members) != 0) return decide_each<Ipv6>(batch, its);
    const uint32_t adjacency = PP_FIB_GROUP_FIRST(members) & (geometry.adjacency_count - 1);
    const std::byte* entry =
        image_.base + geometry.adjacency_offset + size_t{adjacency} * sizeof(pp_fib_adjacency);
    const uint64_t next = image_word(entry, 0), own = image_word(entry, 1);
    const uint64_t tags = image_word(entry, 2), link = image_word(entry, 3);
    const uint64_t egress = own >> 48;
    if (static_cast<uint8_t>(next >> 48) != PP_ADJ_FORWARD || static_cast<uint32_t>(tags) != 0 ||
        static_cast<uint32_t>(egress) - 1U >= geometry.port_count - 1 ||
        !is_port_up(image_word(image_.base + geometry.port_offset + egress * sizeof(pp_fib_port), 0)))
        return 0;
    if (filters_.view && has_filter(static_cast<uint16_t>(link >> 32), true)) return 0;
    if (longest_ - ethernet_header > static_cast<uint32_t>(link)) return decide_each<Ipv6>(batch, its);

    // The Ethernet header, as two words that overlap: the type is what it was, or the frame were not plain.
    constexpr uint64_t type = Ipv6 ? 0xdd86 : 0x0008;
    const uint64_t front = (next & mac_bits) | own << 48;
    const uint64_t end = (own & mac_bits) | type << 48;
    const auto port = static_cast<uint16_t>(egress);
    for (uint64_t left = its; left != 0; left &= left - 1) {
        const auto index = static_cast<uint32_t>(std::countr_zero(left));
        uint8_t* frame = batch.bytes_[index];
        const uint32_t changed = batch.changed_[index];
        std::memcpy(frame, &front, 8);
        std::memcpy(frame + 6, &end, 8);
        std::memcpy(frame + (Ipv6 ? PP_PLAIN_CHANGED6 : PP_PLAIN_CHANGED4), &changed, 4);
        batch.egress_ports_[index] = port;
    }
    if (const auto counter = static_cast<uint16_t>(PP_FIB_GROUP_COUNTER(members))) {
        counted_ |= its;
        for_each_bit(its, [&](size_t index) { batch.route_counters_[index] = counter; });
    }
    return its;
}

// Flattened, and what the geometry says copied: stores into frames might change anything else, for all the
// compiler knows.
template <bool Ipv6, bool Filtered>
[[gnu::flatten]] uint64_t PlainForwarder::decide_each(PlainBatch& batch, uint64_t which) {
    const pp_fib_geometry& geometry = *image_.geometry;
    const auto* const groups = in_register(image_.base + geometry.group_offset);
    const auto* const adjacencies = in_register(image_.base + geometry.adjacency_offset);
    const auto* const ports = in_register(image_.base + geometry.port_offset);
    const uint32_t last_group = geometry.group_count - 1;
    const uint32_t last_adjacency = geometry.adjacency_count - 1;
    const uint32_t last_port = geometry.port_count - 1;
    uint64_t forwarded = which;
    for (; which != 0; which &= which - 1) {
        const auto index = static_cast<uint32_t>(std::countr_zero(which));
        const uint64_t members = image_word(groups, groups_[index] & last_group);
        uint32_t adjacency = PP_FIB_GROUP_FIRST(members);
        if (PP_FIB_GROUP_BITS(members) != 0) adjacency = member<Ipv6>(batch, index, members);
        const std::byte* entry = adjacencies + size_t{adjacency & last_adjacency} * sizeof(pp_fib_adjacency);
        const uint64_t next = image_word(entry, 0), own = image_word(entry, 1);
        const uint64_t tags = image_word(entry, 2), link = image_word(entry, 3);
        const uint64_t egress = own >> 48;
        const uint32_t room = batch.frame_lengths_[index] - ethernet_header;
        // Of these branches none is ever taken but where the long way is: dearer as arithmetic. The port's
        // place needs no mask where its number has been compared.
        if (static_cast<uint8_t>(next >> 48) != PP_ADJ_FORWARD || static_cast<uint32_t>(tags) != 0 ||
            room > static_cast<uint32_t>(link) || static_cast<uint32_t>(egress) - 1U >= last_port ||
            !is_port_up(image_word(ports + egress * sizeof(pp_fib_port), 0))) [[unlikely]] {
            forwarded &= ~(which & -which);
            continue;
        }
        if constexpr (Filtered)
            if (has_filter(static_cast<uint16_t>(link >> 32), true)) {
                forwarded &= ~(which & -which);
                continue;
            }
        // The destination, and two bytes that the source is written over: fewer instructions than putting
        // them together.
        uint8_t* frame = batch.bytes_[index];
        const auto source = static_cast<uint32_t>(own);
        const auto source_end = static_cast<uint16_t>(own >> 32);
        const uint32_t changed = batch.changed_[index];
        std::memcpy(frame, &next, 8);
        std::memcpy(frame + 6, &source, 4);
        std::memcpy(frame + 10, &source_end, 2);
        std::memcpy(frame + (Ipv6 ? PP_PLAIN_CHANGED6 : PP_PLAIN_CHANGED4), &changed, 4);
        batch.egress_ports_[index] = static_cast<uint16_t>(egress);
        if (const auto counter = static_cast<uint16_t>(PP_FIB_GROUP_COUNTER(members))) {
            batch.route_counters_[index] = counter;
            counted_ |= which & -which;
        }
    }
    return forwarded;
}

}  // namespace pktpit::router
