// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/packet_io.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "fib/lookup.h"
#include "router/dpdk/rx_checksum.h"
#include "router/forward/frame.h"

namespace pktpit::router {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::Slot;

namespace {

// Packets asked of a queue at once: what drivers with vector instructions do best.
constexpr size_t burst = 32;
// Bits that mean something to a driver that sends: none, but what says where the bytes are.
constexpr uint64_t kept_flags = RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;

/// The worker is made known to DPDK, which then keeps caches of mbufs for it.
struct KnownThread {
    KnownThread() : known(rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0) {}
    ~KnownThread() {
        if (known) rte_thread_unregister();
    }
    KnownThread(const KnownThread&) = delete;
    KnownThread& operator=(const KnownThread&) = delete;
    bool known;
};

// Of what was received: a header that may not be rewritten in place, or lacks a tag that it came with.
constexpr uint64_t special_flags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_RX_VLAN_STRIPPED;

bool writable(const rte_mbuf* mbuf) {
    return rte_mbuf_refcnt_read(mbuf) == 1 && (mbuf->ol_flags & special_flags) == 0 &&
           mbuf->data_off >= offload::header_headroom;
}

/// Where the frame begins, who else holds it and how many segments it has, in one word, as drivers write it.
uint64_t shape_of(const rte_mbuf& mbuf) {
    uint64_t shape = 0;
    std::memcpy(&shape, &mbuf.rearm_data, sizeof shape);
    return shape;
}
static_assert(offsetof(rte_mbuf, data_off) == offsetof(rte_mbuf, rearm_data) &&
              offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, rearm_data) + 2 &&
              offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, rearm_data) + 4 &&
              offsetof(rte_mbuf, port) == offsetof(rte_mbuf, rearm_data) + 6);
constexpr uint64_t shape_bits = 0xffffffffffff;  // all but the port
/// Of a mbuf in one segment that nobody else holds, as it came from its pool.
constexpr uint64_t usual_shape = RTE_PKTMBUF_HEADROOM | uint64_t{1} << 16 | uint64_t{1} << 32;
static_assert(RTE_PKTMBUF_HEADROOM >= offload::header_headroom && std::endian::native == std::endian::little);

/// Bit i: ports[i] is `port`.
uint64_t equal_to(const std::array<uint16_t, PlainBatch::most>& ports, uint16_t port) {
    uint64_t equal = 0;
#if defined(__x86_64__)
    const __m128i wanted = _mm_set1_epi16(static_cast<short>(port));
    for (size_t at = 0; at < ports.size(); at += 16) {
        const auto* lanes = reinterpret_cast<const __m128i*>(&ports[at]);
        const __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128(lanes), wanted);
        const __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128(lanes + 1), wanted);
        equal |= uint64_t{static_cast<uint16_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)))} << at;
    }
#else
    for (size_t at = 0; at < ports.size(); at++)
        equal |= uint64_t{ports[at] == port} << at;
#endif
    return equal;
}

constexpr auto in_order = [] {
    std::array<uint8_t, PlainBatch::most> indices{};
    for (size_t i = 0; i < indices.size(); i++)
        indices[i] = static_cast<uint8_t>(i);
    return indices;
}();

}  // namespace

void EthPacketIo::index() {
    by_id_.fill(0);
    for (size_t at = 0; at < ports_.size(); at++)
        by_id_[ports_[at].id] = static_cast<uint16_t>(at + 1);
    sources_.clear();
    for (size_t at = 0; at < ports_.size(); at++)
        for (const uint16_t queue : ports_[at].queues)
            sources_.push_back({static_cast<uint16_t>(at), queue});
    turns_.resize(sources_.size());
}

void EthPacketIo::add(const Port& port) {
    ports_.push_back(port);
    if (port.interrupts)
        ports_.back().interrupts = std::ranges::all_of(
            port.queues, [&](uint16_t queue) { return sleep_.add_interrupt(port.device, queue); });
    index();
}

void EthPacketIo::remove(uint16_t id) {
    if (const Port* port = find(id); port && port->interrupts) sleep_.remove_interrupts(port->device);
    std::erase_if(ports_, [&](const Port& port) { return port.id == id; });
    index();
}

size_t EthPacketIo::take(size_t most, PlainBatch& into) {
    static thread_local const KnownThread known;
    run_count_ = 0;
    flags_ = 0;
    segmented_ = false;
    into.clear();
    if (sources_.empty()) return 0;
    size_t count = 0;
    turns_.run(std::min(most, batch), [&](size_t turn, size_t room, int64_t& deficit) {
        const Source& source = sources_[turn];
        const size_t before = count;
        while (count - before < room && deficit > 0) {
            const size_t wanted = std::min(room - (count - before), burst);
            const size_t got = take_from(ports_[source.port], source.queue, count, wanted, deficit, into);
            count += got;
            if (got < wanted) break;
        }
        return count - before;
    });
    if (count == 0) return 0;
    sleep_.busy();
    received_ = ~uint64_t{0} >> (batch - count);
    bytes_ = 0;
    const uint64_t now = monotonic_nanoseconds();
    for (IngressRun& run : std::span(runs_).first(run_count_)) {
        run.since = now;
        bytes_ += run.bytes;
    }
    return count;
}

size_t EthPacketIo::take_from(const Port& port, uint16_t queue, size_t first, size_t most, int64_t& deficit,
                              PlainBatch& into) {
    size_t count = rte_eth_rx_burst(port.device, queue, &held_[first], static_cast<uint16_t>(most));
    uint64_t bytes = 0;
    if (!line_up(first, count, into, bytes) || port.tags_put_back) [[unlikely]]
        count = line_up_each(port, first, count, into, bytes);
    if (count == 0) return 0;
    deficit -= static_cast<int64_t>(bytes + count * DeficitRoundRobin::wire_overhead);
    if (run_count_ == 0 || runs_[run_count_ - 1].port != port.id)
        runs_[run_count_++] = {port.id, static_cast<uint16_t>(first), 0, 0, 0};
    IngressRun& run = runs_[run_count_ - 1];
    run.count = static_cast<uint16_t>(run.count + count);
    run.bytes += bytes;
    return count;
}

// What is not as almost all are is or'ed together, and looked at once a burst: no branch a packet.
bool EthPacketIo::line_up(size_t first, size_t count, PlainBatch& into, uint64_t& bytes) {
    uint64_t shape = 0;
    uint64_t flags = 0;
    uint32_t length = 0;
    uint64_t sum = 0;
    for (size_t i = first; i < first + count; i++) {
        const rte_mbuf* mbuf = held_[i];
        auto* frame = rte_pktmbuf_mtod(mbuf, uint8_t*);
        rte_prefetch0(frame);
        shape |= shape_of(*mbuf) ^ usual_shape;
        flags |= mbuf->ol_flags;
        length |= (mbuf->pkt_len ^ mbuf->data_len) | (mbuf->pkt_len - PP_PLAIN_BYTES4);
        sum += mbuf->pkt_len;
        into.put_whole(i, frame, mbuf->data_len);
    }
    flags_ |= flags;
    bytes = sum;
    return (shape & shape_bits) == 0 && (flags & special_flags) == 0 && length <= UINT16_MAX;
}

// Whether a NIC has verified a checksum is asked here alone: of the usual ones it is computed anyway.
size_t EthPacketIo::line_up_each(const Port& port, size_t first, size_t received, PlainBatch& into,
                                 uint64_t& bytes) {
    bytes = 0;
    size_t count = first;
    for (size_t i = first; i < first + received; i++) {
        rte_mbuf* mbuf = held_[i];
        if (!writable(mbuf))
            if (!(mbuf = make_writable(port, mbuf))) continue;
        if (port.tags_put_back) name_protocol(port, mbuf);
        bytes += mbuf->pkt_len;
        flags_ |= mbuf->ol_flags;
        segmented_ |= mbuf->nb_segs > 1;
        held_[count] = mbuf;
        into.put(count++, rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len, mbuf->pkt_len,
                 ipv4_checksum_good(*mbuf));
    }
    return count - first;
}

std::span<const IngressRun> EthPacketIo::receive(PlainBatch& into) {
    take(batch, into);
    return std::span(runs_).first(run_count_);
}

void EthPacketIo::slice(uint64_t which, std::span<HeaderSlice> slices) const {
    for (const IngressRun& run : std::span(runs_).first(run_count_)) {
        for (size_t i = run.first; i < size_t{run.first} + run.count; i++) {
            if ((which >> i & 1) == 0) continue;
            const rte_mbuf* mbuf = held_[i];
            HeaderSlice& slice = slices[i];
            slice.bytes = rte_pktmbuf_mtod(mbuf, uint8_t*);
            slice.length = std::min<uint16_t>(mbuf->data_len, PP_SLICE_BYTES);
            slice.port = run.port;
            slice.frame_length = mbuf->pkt_len;
            slice.reason = 0;
            slice.veto = PP_NONE;
            slice.checksum_good = ipv4_checksum_good(*mbuf);
            slice.slot = {0, static_cast<uint32_t>(i)};
            slice.timestamp = run.since;
        }
    }
}

size_t EthPacketIo::receive(std::span<HeaderSlice> slices) {
    PlainBatch unused;
    const size_t count = take(slices.size(), unused);
    slice(~uint64_t{0}, slices);
    return count;
}

// Drivers that hand over what others hold too, leave no room in front, or took a tag off unasked.
rte_mbuf* EthPacketIo::make_writable(const Port& port, rte_mbuf* mbuf) {
    if (rte_mbuf_refcnt_read(mbuf) != 1 || (mbuf->ol_flags & RTE_MBUF_F_INDIRECT) != 0 ||
        rte_pktmbuf_headroom(mbuf) < offload::header_headroom + RTE_VLAN_HLEN) {
        rte_mbuf* copy = copy_of(mbuf);
        if (copy) {
            copy->ol_flags = mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED;
            copy->vlan_tci = mbuf->vlan_tci;
        }
        rte_pktmbuf_free(mbuf);
        mbuf = copy;
    }
    const bool stripped = mbuf && (mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
    if (stripped && rte_vlan_insert(&mbuf) != 0) {
        rte_pktmbuf_free(mbuf);
        mbuf = nullptr;
    } else if (mbuf && stripped) {
        name_protocol(port, mbuf);
    }
    if (!mbuf) counters_.verdict(port.id, PP_DROP_RX_ERROR);
    return mbuf;
}

// DPDK puts every tag back as one of 802.1Q: an mbuf does not say what it was.
void EthPacketIo::name_protocol(const Port& port, rte_mbuf* mbuf) const {
    if (!image_.base || mbuf->data_len < ethernet_header + 2 * vlan_tag) return;
    auto* tags = rte_pktmbuf_mtod_offset(mbuf, uint8_t*, ethernet_header - 2);
    if (load_be16(tags) != ethertype_vlan) return;
    const uint32_t outer = load_be16(tags + 2) & PP_VLAN_VID;
    const uint32_t inner =
        load_be16(tags + vlan_tag) == ethertype_vlan ? load_be16(tags + vlan_tag + 2) & PP_VLAN_VID : 0;
    const auto configured = [&](uint32_t tag) {
        return pp_fib_vlan_interface(image_.base, image_.geometry, port.id, tag, inner) != 0;
    };
    if (!configured(outer) && configured(outer | PP_VLAN_SERVICE)) store_be16(tags, ethertype_qinq);
}

rte_mbuf* EthPacketIo::copy_of(const rte_mbuf* mbuf) {
    rte_mbuf* copy = rte_pktmbuf_alloc(pool_);
    if (!copy) return nullptr;
    char* to = rte_pktmbuf_append(copy, static_cast<uint16_t>(std::min<uint32_t>(mbuf->pkt_len, UINT16_MAX)));
    if (to && gather(mbuf, 0, {reinterpret_cast<uint8_t*>(to), mbuf->pkt_len})) return copy;
    rte_pktmbuf_free(copy);
    return nullptr;
}

rte_mbuf* EthPacketIo::in_one_segment(rte_mbuf* mbuf) {
    rte_mbuf* copy = copy_of(mbuf);
    rte_pktmbuf_free(mbuf);
    return copy;
}

bool EthPacketIo::gather(const rte_mbuf* mbuf, size_t from, std::span<uint8_t> to) const {
    for (const rte_mbuf* segment = mbuf; segment && !to.empty(); segment = segment->next) {
        if (from >= segment->data_len) {
            from -= segment->data_len;
            continue;
        }
        const auto* bytes = rte_pktmbuf_mtod_offset(segment, const uint8_t*, from);
        const size_t length = std::min(to.size(), segment->data_len - from);
        from = 0;
        const auto* base = peer_ ? reinterpret_cast<const uint8_t*>(peer_->cpu_bytes().data()) : nullptr;
        if (base && bytes >= base && bytes < base + peer_->bytes()) {
            if (!peer_->read(static_cast<uint64_t>(bytes - base), to.first(length))) return false;
        } else {
            std::memcpy(to.data(), bytes, length);
        }
        to = to.subspan(length);
    }
    return to.empty();
}

namespace {

/// Shortens the packet to `bytes`, which lie in its first segments; what is behind them goes.
void cut(rte_mbuf* mbuf, uint32_t bytes) {
    if (mbuf->pkt_len == bytes) [[likely]]
        return;
    mbuf->pkt_len = bytes;
    rte_mbuf* last = mbuf;
    uint16_t segments = 1;
    for (; bytes > last->data_len && last->next; last = last->next, segments++)
        bytes -= last->data_len;
    last->data_len = static_cast<uint16_t>(bytes);
    rte_pktmbuf_free(std::exchange(last->next, nullptr));
    mbuf->nb_segs = segments;
}

}  // namespace

// The header ends where it did; it begins earlier or later by what was added or taken away.
void EthPacketIo::apply(const EgressDescriptor& descriptor) {
    rte_mbuf* mbuf = held_[descriptor.slot.index];
    const auto moved = rte_pktmbuf_mtod(mbuf, uint8_t*) - descriptor.header;
    mbuf->data_off = static_cast<uint16_t>(mbuf->data_off - moved);
    mbuf->data_len = static_cast<uint16_t>(mbuf->data_len + moved);
    mbuf->pkt_len = static_cast<uint32_t>(mbuf->pkt_len + moved);
    cut(mbuf, descriptor.header_length + descriptor.payload_length);
    egress_[descriptor.slot.index] = descriptor.port;
}

void EthPacketIo::submit(std::span<const EgressDescriptor> descriptors) {
    uint64_t which = 0;
    for (const EgressDescriptor& descriptor : descriptors) {
        apply(descriptor);
        which |= uint64_t{1} << descriptor.slot.index;
    }
    send_held(which, 0);
}

void EthPacketIo::submit(const PlainBatch& from, uint64_t plain, std::span<const EgressDescriptor> others) {
    egress_ = from.egress_ports();
    uint64_t which = plain;
    for (const EgressDescriptor& descriptor : others) {
        apply(descriptor);
        which |= uint64_t{1} << descriptor.slot.index;
    }
    send_held(which, others.empty() ? received_ : 0);
}

// A pass a port: there are few, and each gets one doorbell.
void EthPacketIo::send_held(uint64_t which, uint64_t as_received) {
    while (which != 0) {
        const uint16_t id = egress_[static_cast<size_t>(std::countr_zero(which))];
        const uint64_t its = which & equal_to(egress_, id);
        which &= ~its;
        // Of a port that is not there, none: all are dropped.
        const Port* port = find(id);
        if (!port || (segmented_ && !port->multi_segment)) [[unlikely]]
            send_whole(port, id, its);
        else if ((its & (its + 1)) == 0)
            transmit(*port, held_.data(), in_order.data(), static_cast<size_t>(std::countr_one(its)),
                     its == as_received ? std::optional(bytes_) : std::nullopt);
        else
            transmit(*port, tx_.data(), tx_index_.data(), pick(its));
    }
}

size_t EthPacketIo::pick(uint64_t which) {
    size_t count = 0;
    for (; which != 0; which &= which - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(which));
        tx_index_[count] = static_cast<uint8_t>(index);
        tx_[count++] = held_[index];
    }
    return count;
}

void EthPacketIo::send_whole(const Port* port, uint16_t id, uint64_t which) {
    uint64_t left = which;
    for (; which != 0; which &= which - 1) {
        const auto index = static_cast<size_t>(std::countr_zero(which));
        if (port && held_[index]->nb_segs == 1) continue;
        if (port && (held_[index] = in_one_segment(held_[index]))) continue;
        drop(id, port ? PP_DROP_NO_SLOT : PP_DROP_NO_EGRESS, index);
        left &= ~(which & -which);
    }
    if (left != 0) transmit(*port, tx_.data(), tx_index_.data(), pick(left));
}

void EthPacketIo::drop(uint16_t port, pp_verdict verdict, size_t index) {
    counters_.verdict(port, verdict);
    note_refused({0, static_cast<uint32_t>(index)}, static_cast<uint8_t>(verdict));
    rte_pktmbuf_free(held_[index]);
}

void EthPacketIo::transmit(const Port& port, rte_mbuf** mbufs, const uint8_t* indices, size_t count,
                           std::optional<uint64_t> known_bytes) {
    uint64_t bytes = known_bytes.value_or(0);
    if (!known_bytes)
        for (size_t i = 0; i < count; i++)
            bytes += mbufs[i]->pkt_len;
    if ((flags_ & ~kept_flags) != 0)
        for (size_t i = 0; i < count; i++)
            mbufs[i]->ol_flags &= kept_flags;
    const uint16_t taken = rte_eth_tx_burst(port.device, port.tx_queue, mbufs, static_cast<uint16_t>(count));
    // What has been sent is the driver's, and was counted before.
    for (size_t i = taken; i < count; i++)
        bytes -= mbufs[i]->pkt_len;
    counters_.sent(port.id, taken, bytes);
    if (taken == count) return;
    counters_.verdict(port.id, PP_DROP_EGRESS_FULL, count - taken);
    for (size_t i = taken; i < count; i++)
        note_refused({0, indices[i]}, PP_DROP_EGRESS_FULL);
    rte_pktmbuf_free_bulk(mbufs + taken, static_cast<unsigned>(count - taken));
}

void EthPacketIo::release(std::span<const Slot> slots) {
    for (const Slot slot : slots)
        rte_pktmbuf_free(held_[slot.index]);
}

bool EthPacketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    return gather(held_[slice.slot.index], 0, frame);
}

bool EthPacketIo::send(uint16_t id, std::span<const uint8_t> frame) {
    const Port* port = find(id);
    if (!port) return false;
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (!mbuf) return false;
    char* to = frame.size() <= rte_pktmbuf_tailroom(mbuf)
                   ? rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size()))
                   : nullptr;
    if (to) {
        std::memcpy(to, frame.data(), frame.size());
        if (rte_eth_tx_burst(port->device, port->tx_queue, &mbuf, 1) == 1) return true;
    }
    rte_pktmbuf_free(mbuf);
    return false;
}

void EthPacketIo::arm() {
    sleep_.arm(std::ranges::any_of(
        ports_, [](const Port& port) { return !port.interrupts && !port.queues.empty(); }));
}

void EthPacketIo::disarm() {
    sleep_.disarm();
}

// Some drivers keep what they have sent until they send again, and with it buffers that others want.
void EthPacketIo::look() {
    for (const Port& port : ports_)
        (void)rte_eth_tx_done_cleanup(port.device, port.tx_queue, 0);
}

}  // namespace pktpit::router
