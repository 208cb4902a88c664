// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/packet_io.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_lcore.h>

#include <algorithm>
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

size_t EthPacketIo::receive(std::span<HeaderSlice> slices) {
    static thread_local const KnownThread known;
    if (sources_.empty()) return 0;
    size_t count = 0;
    turns_.run(std::min(slices.size(), slots_.free()), [&](size_t turn, size_t room, int64_t& deficit) {
        const Source& source = sources_[turn];
        size_t taken = 0;
        while (taken < room && deficit > 0) {
            const size_t most = std::min(room - taken, burst);
            const size_t got = receive_from(ports_[source.port], source.queue, slices.subspan(count, most));
            for (const HeaderSlice& slice : slices.subspan(count, got))
                deficit -= slice.frame_length + DeficitRoundRobin::wire_overhead;
            taken += got;
            count += got;
            if (got < most) break;
        }
        return taken;
    });
    if (count == 0) return 0;
    sleep_.busy();
    const uint64_t now = monotonic_nanoseconds();
    for (HeaderSlice& slice : slices.first(count))
        slice.timestamp = now;
    return count;
}

size_t EthPacketIo::receive_from(const Port& port, uint16_t queue, std::span<HeaderSlice> slices) {
    std::array<rte_mbuf*, burst> mbufs;
    const uint16_t received =
        rte_eth_rx_burst(port.device, queue, mbufs.data(), static_cast<uint16_t>(slices.size()));
    for (uint16_t i = 0; i < received; i++)
        rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void*));
    size_t count = 0;
    for (uint16_t i = 0; i < received; i++) {
        rte_mbuf* mbuf = mbufs[i];
        if (!writable(mbuf) && !(mbuf = make_writable(port, mbuf))) continue;
        if (port.tags_put_back) name_protocol(port, mbuf);
        HeaderSlice& slice = slices[count++];
        slice.bytes = rte_pktmbuf_mtod(mbuf, uint8_t*);
        slice.length = std::min<uint16_t>(mbuf->data_len, PP_SLICE_BYTES);
        slice.port = port.id;
        slice.frame_length = mbuf->pkt_len;
        slice.reason = 0;
        slice.veto = PP_NONE;
        slice.checksum_good = ipv4_checksum_good(*mbuf);
        slice.slot = slots_.put(mbuf);
    }
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

void EthPacketIo::submit(std::span<const EgressDescriptor> descriptors) {
    // A pass a port: there are few, and each gets one doorbell.
    size_t left = descriptors.size();
    for (const Port& port : ports_) {
        size_t count = 0;
        for (const EgressDescriptor& descriptor : descriptors) {
            if (descriptor.port != port.id) continue;
            left--;
            rte_mbuf* mbuf = slots_.take(descriptor.slot);
            // The header ends where it did; it begins earlier or later by what was added or taken away.
            const auto moved = rte_pktmbuf_mtod(mbuf, uint8_t*) - descriptor.header;
            mbuf->data_off = static_cast<uint16_t>(mbuf->data_off - moved);
            mbuf->data_len = static_cast<uint16_t>(mbuf->data_len + moved);
            mbuf->pkt_len = static_cast<uint32_t>(mbuf->pkt_len + moved);
            cut(mbuf, descriptor.header_length + descriptor.payload_length);
            mbuf->ol_flags &= kept_flags;
            if (mbuf->nb_segs > 1 && !port.multi_segment && !(mbuf = in_one_segment(mbuf))) {
                counters_.verdict(port.id, PP_DROP_NO_SLOT);
                note_refused(descriptor.slot, PP_DROP_NO_SLOT);
                continue;
            }
            tx_slots_[count] = descriptor.slot;
            tx_[count++] = mbuf;
        }
        if (count != 0) transmit(port, count);
        if (left == 0) return;
    }
    for (const EgressDescriptor& descriptor : descriptors)
        if (!find(descriptor.port)) {
            counters_.verdict(descriptor.port, PP_DROP_NO_EGRESS);
            note_refused(descriptor.slot, PP_DROP_NO_EGRESS);
            rte_pktmbuf_free(slots_.take(descriptor.slot));
        }
}

void EthPacketIo::transmit(const Port& port, size_t count) {
    // Counted before the burst: what has been sent is the driver's.
    uint64_t bytes = 0;
    for (const rte_mbuf* mbuf : std::span(tx_).first(count))
        bytes += mbuf->pkt_len;
    const uint16_t taken =
        rte_eth_tx_burst(port.device, port.tx_queue, tx_.data(), static_cast<uint16_t>(count));
    for (const rte_mbuf* mbuf : std::span(tx_).subspan(taken, count - taken))
        bytes -= mbuf->pkt_len;
    counters_.sent(port.id, taken, bytes);
    if (taken == count) return;
    counters_.verdict(port.id, PP_DROP_EGRESS_FULL, count - taken);
    for (const Slot slot : std::span(tx_slots_).subspan(taken, count - taken))
        note_refused(slot, PP_DROP_EGRESS_FULL);
    rte_pktmbuf_free_bulk(tx_.data() + taken, static_cast<unsigned>(count - taken));
}

void EthPacketIo::release(std::span<const Slot> slots) {
    for (const Slot slot : slots)
        rte_pktmbuf_free(slots_.take(slot));
}

bool EthPacketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    return gather(slots_.get(slice.slot), 0, frame);
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
