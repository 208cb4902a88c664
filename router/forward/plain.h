// SPDX-License-Identifier: BSD-3-Clause
/// The plain way: what most packets are is decided and rewritten a batch at a time, where it lies, with no
/// Decision. A worker's thread; reads the image and the frames' headers, never allocates, locks or logs.
///
/// What makes a packet plain. By its header (plain_check.h, vectors of frames):
/// - an untagged frame for the port's own unicast MAC address, from a station that is not the port, by a port
///   that has an interface for untagged frames;
/// - IPv4 of 20 header bytes: version, lengths and checksum right, neither address special (0/8, 127/8,
///   169.254/16, from 224/4 on), a source that the image's filter of router's own addresses does not know,
///   TTL above 1; or IPv6 without hop-by-hop options: lengths right, neither address unspecified, loopback,
///   IPv4-mapped, link-local or multicast, the same filter, hop limit above 1;
/// - the packet fills the frame, but for a short frame's padding;
/// - the interface that it comes in by has no filter, no check of sources and no rate;
/// - it is not for a DHCP client, where the host may be asking for an address on the port.
/// And by its route: a group (of several members: by the flow's hash) that leads to a complete adjacency
/// without VLAN tags, whose port is up and whose MTU the packet fits, by an interface that has no filter.
/// Such a packet's fate needs no verdict but "forwarded", and of its bytes change the MAC addresses, the TTL
/// and the checksum: 12 and 4, in place.
///
/// Invariants:
/// - forward() (forward.h) is the truth. Whatever is different in any respect is "not plain", untouched, and
///   decided by it from the beginning; no reason to drop, punt or hand up is named here. So this may call too
///   little plain, never too much: tests/unit/forward, tests/differential and tests/fuzz/forward hold what it
///   does call plain to forward(): same port, same bytes, same counter.
/// - A frame is written only after everything about it is decided.
/// - Between enter() and leave() of the caller's EpochReader, in which forward() is called, nothing that the
///   image refers to is reused: a group that was found leads to adjacencies that are whole, however the
///   writer goes on. Each word of the image is read once a packet, so what was decided by is what is written,
///   though two packets of a batch may see an old and a new route. Nothing of the image is kept beyond the
///   call.
/// - Packets leave in the order that they came: columns stay in the batch's order, and whoever decides about
///   the others puts them between.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "fib/reader.h"
#include "router/forward/forward.h"
#include "router/forward/plain_check.h"

namespace pktpit::router {

/// Frames of a batch that came in by one port, one after the other.
struct IngressRun {
    uint16_t port = 0;
    uint16_t first = 0;  ///< index in the batch
    uint16_t count = 0;
    uint64_t bytes = 0;  ///< of the frames, whole
    uint64_t since = 0;  ///< when they were taken from the port, CLOCK_MONOTONIC, ns
};

/// A batch in columns: one frame an index.
class PlainBatch {
  public:
    static constexpr size_t most = PP_PLAIN_FRAMES;

    PlainBatch();
    /// Begins a new batch.
    void clear() { verified_ = 0; }
    /// Frame `index`: `slice` bytes are readable at `bytes`, and may be rewritten, if it leaves, by whoever
    /// finds it plain. `slice` 0: it shall not be plain, whatever it is.
    void put(size_t index, uint8_t* bytes, uint16_t slice, uint32_t frame_length, bool checksum_good) {
        const bool seen = slice >= PP_PLAIN_BYTES4 && slice <= frame_length;
        bytes_[index] = seen ? bytes : nothing();
        slices_[index] = seen ? slice : uint16_t{0};
        frame_lengths_[index] = frame_length;
        verified_ |= uint64_t{checksum_good} << index;
    }
    /// put() of a frame that is readable from end to end, PP_PLAIN_BYTES4 bytes or more, and whose checksum
    /// is to be computed.
    void put_whole(size_t index, uint8_t* bytes, uint16_t length) {
        bytes_[index] = bytes;
        slices_[index] = length;
        frame_lengths_[index] = length;
    }
    [[nodiscard]] uint32_t frame_length(size_t index) const { return frame_lengths_[index]; }

    // Of frames that PlainForwarder::forward() found plain:
    [[nodiscard]] uint16_t egress_port(size_t index) const { return egress_ports_[index]; }
    [[nodiscard]] const std::array<uint16_t, most>& egress_ports() const { return egress_ports_; }
    /// Counter of its route, 0: none.
    [[nodiscard]] uint16_t route_counter(size_t index) const { return route_counters_[index]; }
    /// As an auto port's worker notes it.
    [[nodiscard]] pp_destination destination(size_t index) const;

  private:
    friend class PlainForwarder;
    /// A whole vector more than frames: vectors read and write beyond the last one.
    template <class T>
    using Column = std::array<T, most + PP_PLAIN_LANES>;
    /// All zeroes: no Ethernet header that is anybody's.
    static uint8_t* nothing() { return no_frame.data(); }
    alignas(64) static inline std::array<uint8_t, 64> no_frame{};

    alignas(64) Column<uint8_t*> bytes_;
    alignas(64) Column<uint32_t> frame_lengths_{};
    alignas(64) Column<uint32_t> changed_{};  ///< PP_PLAIN_CHANGED4, PP_PLAIN_CHANGED6
    alignas(64) Column<uint32_t> addresses4_{};
    std::array<uint16_t, most> slices_{};
    std::array<uint16_t, most> egress_ports_{};
    std::array<uint16_t, most> route_counters_{};
    uint64_t verified_ = 0;
    uint64_t plain6_ = 0;  ///< IPv6 among the plain ones
};

class PlainForwarder {
  public:
    explicit PlainForwarder(const ImageView& image, fib::CpuVariant variant = fib::best_cpu_variant());
    ~PlainForwarder();

    /// Rewrites what is plain of `batch`, whose frames are those of `runs`, and says which they are: bit i,
    /// frame i.
    uint64_t forward(PlainBatch& batch, std::span<const IngressRun> runs);
    /// Of the last forward(): plain packets with a route counter.
    [[nodiscard]] uint64_t counted() const { return counted_; }

  private:
    struct Scratch6;
    /// Of `others`, frames of one run, those that are plain IPv6 are appended to what is to be looked up.
    void check6(const PlainBatch& batch, const IngressRun& run, const pp_plain_run& check4, uint64_t others);
    [[nodiscard]] bool all_readable6(const PlainBatch& batch) const;
    /// One that is plain by its header.
    void note6(const uint8_t* frame, size_t index, uint32_t changed);
    uint64_t look_up6(PlainBatch& batch);
    /// Of frames whose groups_ are known: rewrites those that are plain by their routes, and says which.
    template <bool Ipv6>
    uint64_t decide(PlainBatch& batch, uint64_t which);
    template <bool Ipv6>
    uint64_t decide_group(PlainBatch& batch, uint64_t its);
    template <bool Ipv6, bool Filtered>
    uint64_t decide_each(PlainBatch& batch, uint64_t which);
    template <bool Ipv6>
    uint64_t decide_each(PlainBatch& batch, uint64_t which) {
        return filters_.view ? decide_each<Ipv6, true>(batch, which) : decide_each<Ipv6, false>(batch, which);
    }
    void read_filters();
    /// Are sources checked of what comes in by the interface, or its rate?
    [[nodiscard]] bool is_guarded(uint16_t interface) const;
    [[nodiscard]] bool has_filter(uint16_t interface, bool out) const;
    static uint64_t to_dhcp_clients(const PlainBatch& batch, uint64_t ipv4);
    /// The adjacency that a group of several has for a packet's flow.
    template <bool Ipv6>
    uint32_t member(const PlainBatch& batch, size_t index, uint64_t members) const;

    /// Frames before `end`, and behind the stretch before, are looked up in `table`.
    struct Stretch {
        uint16_t table;
        uint16_t end;
    };
    void note_table(uint16_t table, const IngressRun& run);
    void look_up_stretches4(const PlainBatch& batch);

    ImageView image_;
    /// Those in force while a batch is decided about.
    struct Filters {
        const FilterView* view = nullptr;
        const void* half = nullptr;
    } filters_;
    const pp_guard* guard_ = nullptr;  ///< while a batch is decided about; null: nothing is guarded
    fib::FibReader reader_;
    std::array<Stretch, PlainBatch::most> stretch_{};
    size_t stretches_ = 0;
    pp_plain_check* check4_;
    pp_plain_check* check6_;
    std::array<fib::GroupId, PlainBatch::most> groups_{};
    std::unique_ptr<Scratch6> six_;
    uint64_t counted_ = 0;
    size_t total_ = 0;      ///< frames of the batch
    uint32_t longest_ = 0;  ///< of them
};

}  // namespace pktpit::router
