// SPDX-License-Identifier: BSD-3-Clause
/// A transmit ring: which slot ends in which descriptor, for every chip. The worker that owns the port calls
/// it; the device is the other side, believed only that a descriptor is done. A frame is one descriptor, or
/// two if it has payload; the last of each batch, and some in between, ask the chip to report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "offload/nic/descriptor_memory.h"
#include "offload/nic/nic.h"

namespace pktpit::offload {

/// One piece of a frame, as a chip writes it into a descriptor.
struct TxPiece {
    Iova address = 0;
    uint32_t length = 0;
    uint32_t frame_length = 0;
    bool last = false;
};

/// `Chip` gives tx_descriptor_bytes, max_transmit, write_tx(words, piece), ask_report(words), and
/// read_tx(words) with `done` and `error`.
template <class Chip>
class TxRing {
  public:
    /// `memory`: layout.tx_descriptors descriptors of the chip, aligned to a page.
    void start(std::byte* memory, const NicLayout& layout) {
        memory_ = memory;
        mask_ = layout.tx_descriptors - 1;
        entries_.assign(layout.tx_descriptors, Entry{});
        refused_.assign(layout.tx_descriptors, Slot{});
        refused_count_ = 0;
        filled_ = taken_ = done_ = report_ = unreported_ = 0;
    }

    size_t transmit(std::span<const TxFrame> frames, NicErrors& errors) {
        size_t count = 0;
        const uint32_t before = filled_;
        for (const TxFrame& frame : frames) {
            if (entries_.empty()) break;
            if (!sendable(frame)) {
                if (refused_count_ == refused_.size()) break;
                refused_[refused_count_++] = frame.slot;
                errors.tx_refused++;
                count++;
                continue;
            }
            if (room() < pieces(frame)) break;
            put(frame);
            count++;
        }
        if (filled_ != before && unreported_ > 0) report();
        return count;
    }

    /// What to write into the tail register.
    [[nodiscard]] uint32_t tail() const { return filled_ & mask_; }

    size_t completed(std::span<Slot> slots, NicErrors& errors) {
        size_t count = 0;
        while (count < slots.size() && refused_count_ > 0)
            slots[count++] = refused_[--refused_count_];
        while (count < slots.size()) {
            if (taken_ == done_ && !advance(errors)) break;
            const Entry& entry = entries_[taken_++ & mask_];
            if (entry.last) slots[count++] = entry.slot;
        }
        return count;
    }

    /// The device must be at rest.
    void stop(std::vector<Slot>& left) {
        for (; taken_ != filled_; taken_++) {
            const Entry& entry = entries_[taken_ & mask_];
            if (entry.last) left.push_back(entry.slot);
        }
        left.insert(left.end(), refused_.begin(), refused_.begin() + static_cast<ptrdiff_t>(refused_count_));
        entries_.clear();
        refused_.clear();
        refused_count_ = 0;
        filled_ = taken_ = done_ = report_ = unreported_ = 0;
    }

  private:
    struct Entry {
        Slot slot;
        bool last = false;
        bool reports = false;
    };
    /// Descriptors after which a report is asked for, so that a long batch's slots come back before its end.
    static constexpr uint32_t report_interval = 32;

    [[nodiscard]] DescriptorWords descriptor(uint32_t index) const {
        return DescriptorWords(memory_ + size_t{index} * Chip::tx_descriptor_bytes);
    }
    /// One descriptor stays empty: a head that meets the tail means an empty ring.
    [[nodiscard]] uint32_t room() const { return mask_ - (filled_ - taken_); }
    [[nodiscard]] static uint32_t pieces(const TxFrame& frame) { return frame.payload_length > 0 ? 2 : 1; }
    [[nodiscard]] static bool sendable(const TxFrame& frame) {
        return frame.header_length > 0 && frame.header_length <= Chip::max_transmit &&
               frame.payload_length <= Chip::max_transmit - frame.header_length;
    }

    void put(const TxFrame& frame) {
        const uint32_t length = frame.header_length + frame.payload_length;
        const bool whole = frame.payload_length == 0;
        put_piece({frame.header, frame.header_length, length, whole}, frame.slot);
        if (!whole) put_piece({frame.payload, frame.payload_length, length, true}, frame.slot);
        if (unreported_ >= report_interval) report();
    }

    void put_piece(const TxPiece& piece, Slot slot) {
        const uint32_t index = filled_ & mask_;
        entries_[index] = {slot, piece.last, false};
        Chip::write_tx(descriptor(index), piece);
        filled_++;
        unreported_++;
    }

    /// The newest descriptor is to be reported. It ends a frame, and the doorbell has not been rung for it.
    void report() {
        const uint32_t index = (filled_ - 1) & mask_;
        entries_[index].reports = true;
        Chip::ask_report(descriptor(index));
        unreported_ = 0;
    }

    /// Looks whether the next report is there: then all up to it has been sent, since the chip sends in
    /// order.
    bool advance(NicErrors& errors) {
        if (report_ == done_) {
            // Each batch ends with a report, so there is one as long as there is anything.
            while (report_ != filled_ && !entries_[report_ & mask_].reports)
                report_++;
            if (report_ == filled_) {
                report_ = done_;
                return false;
            }
            report_++;
        }
        const auto status = Chip::read_tx(descriptor((report_ - 1) & mask_));
        if (!status.done) return false;
        if (status.error) errors.tx_bad_completion++;
        done_ = report_;
        return true;
    }

    std::byte* memory_ = nullptr;
    uint32_t mask_ = 0;
    uint32_t filled_ = 0;      ///< descriptors handed over, ever; wraps around
    uint32_t taken_ = 0;       ///< descriptors whose slots were given back
    uint32_t done_ = 0;        ///< descriptors that the device has sent
    uint32_t report_ = 0;      ///< one after the next descriptor that reports, or done_ if not looked for
    uint32_t unreported_ = 0;  ///< descriptors since the last that reports
    size_t refused_count_ = 0;
    std::vector<Entry> entries_;  ///< by descriptor
    std::vector<Slot> refused_;
};

}  // namespace pktpit::offload
