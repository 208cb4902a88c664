// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/packet_io.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>

#include <algorithm>
#include <bit>
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

bool writable(const rte_mbuf* mbuf) {
    constexpr uint64_t special = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_RX_VLAN_STRIPPED;
    return rte_mbuf_refcnt_read(mbuf) == 1 && (mbuf->ol_flags & special) == 0 &&
           mbuf->data_off >= offload::header_headroom;
}

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

size_t EthPacketIo::take(size_t most) {
    static thread_local const KnownThread known;
    run_count_ = 0;
    if (sources_.empty()) return 0;
    size_t count = 0;
    turns_.run(std::min(most, batch), [&](size_t turn, size_t room, int64_t& deficit) {
        const Source& source = sources_[turn];
        const size_t before = count;
        while (count - before < room && deficit > 0) {
            const size_t wanted = std::min(room - (count - before), burst);
            const size_t got = take_from(ports_[source.port], source.queue, count, wanted, deficit);
            count += got;
            if (got < wanted) break;
        }
        return count - before;
    });
    if (count == 0) return 0;
    sleep_.busy();
    const uint64_t now = monotonic_nanoseconds();
    for (IngressRun& run : std::span(runs_).first(run_count_))
        run.since = now;
    return count;
}

size_t EthPacketIo::take_from(const Port& port, uint16_t queue, size_t first, size_t most, int64_t& deficit) {
    rte_mbuf** const mbufs = &held_[first];
    const uint16_t received = rte_eth_rx_burst(port.device, queue, mbufs, static_cast<uint16_t>(most));
    for (uint16_t i = 0; i < received; i++)
        rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void*));
    uint64_t bytes = 0;
    size_t count = 0;
    for (uint16_t i = 0; i < received; i++) {
        rte_mbuf* mbuf = mbufs[i];
        if (!writable(mbuf)) [[unlikely]]
            if (!(mbuf = make_writable(port, mbuf))) continue;
        if (port.tags_put_back) name_protocol(port, mbuf);
        bytes += mbuf->pkt_len;
        mbufs[count++] = mbuf;
    }
    if (count == 0) return 0;
    deficit -= static_cast<int64_t>(bytes + count * DeficitRoundRobin::wire_overhead);
    if (run_count_ == 0 || runs_[run_count_ - 1].port != port.id)
        runs_[run_count_++] = {port.id, static_cast<uint16_t>(first), 0, 0, 0};
    IngressRun& run = runs_[run_count_ - 1];
    run.count = static_cast<uint16_t>(run.count + count);
    run.bytes += bytes;
    return count;
}

std::span<const IngressRun> EthPacketIo::receive(PlainBatch& into) {
    const size_t count = take(batch);
    into.clear();
    for (size_t i = 0; i < count; i++) {
        const rte_mbuf* mbuf = held_[i];
        into.put(i, rte_pktmbuf_mtod(mbuf, uint8_t*), mbuf->data_len, mbuf->pkt_len,
                 ipv4_checksum_good(*mbuf));
    }
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
    const size_t count = take(slices.size());
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
    send_held(which);
}

void EthPacketIo::submit(const PlainBatch& from, uint64_t plain, std::span<const EgressDescriptor> others) {
    egress_ = from.egress_ports();
    uint64_t which = plain;
    for (const EgressDescriptor& descriptor : others) {
        apply(descriptor);
        which |= uint64_t{1} << descriptor.slot.index;
    }
    send_held(which);
}

// A pass a port: there are few, and each gets one doorbell.
void EthPacketIo::send_held(uint64_t which) {
    while (which != 0) {
        const uint16_t id = egress_[static_cast<size_t>(std::countr_zero(which))];
        const Port* port = find(id);
        // Of a port that is not there, none: all are dropped.
        const unsigned most_segments = !port ? 0 : port->multi_segment ? UINT16_MAX : 1;
        uint64_t others = 0;
        uint64_t bytes = 0;
        size_t count = 0;
        for (; which != 0; which &= which - 1) {
            const auto index = static_cast<size_t>(std::countr_zero(which));
            if (egress_[index] != id) {
                others |= which & -which;
                continue;
            }
            rte_mbuf* mbuf = held_[index];
            mbuf->ol_flags &= kept_flags;
            if (mbuf->nb_segs > most_segments) [[unlikely]] {
                if (port) held_[index] = mbuf = in_one_segment(mbuf);
                if (!port || !mbuf) {
                    drop(id, port ? PP_DROP_NO_SLOT : PP_DROP_NO_EGRESS, index);
                    continue;
                }
            }
            bytes += mbuf->pkt_len;
            tx_index_[count] = static_cast<uint8_t>(index);
            tx_[count++] = mbuf;
        }
        if (count != 0) transmit(*port, count, bytes);
        which = others;
    }
}

void EthPacketIo::drop(uint16_t port, pp_verdict verdict, size_t index) {
    counters_.verdict(port, verdict);
    note_refused({0, static_cast<uint32_t>(index)}, static_cast<uint8_t>(verdict));
    rte_pktmbuf_free(held_[index]);
}

void EthPacketIo::transmit(const Port& port, size_t count, uint64_t bytes) {
    const uint16_t taken =
        rte_eth_tx_burst(port.device, port.tx_queue, tx_.data(), static_cast<uint16_t>(count));
    // What has been sent is the driver's, and was counted before.
    for (const rte_mbuf* mbuf : std::span(tx_).subspan(taken, count - taken))
        bytes -= mbuf->pkt_len;
    counters_.sent(port.id, taken, bytes);
    if (taken == count) return;
    counters_.verdict(port.id, PP_DROP_EGRESS_FULL, count - taken);
    for (const uint8_t index : std::span(tx_index_).subspan(taken, count - taken))
        note_refused({0, index}, PP_DROP_EGRESS_FULL);
    rte_pktmbuf_free_bulk(tx_.data() + taken, static_cast<unsigned>(count - taken));
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
