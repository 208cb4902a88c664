// SPDX-License-Identifier: BSD-3-Clause
/// A receive ring: which slot is in which descriptor, what goes in and what comes out, for every chip. The
/// worker that owns the port calls it; the device is the other side. The device is believed only that a
/// descriptor is done: a slot is found by the descriptor's place, lengths are checked, and no head or tail
/// is ever read from the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "offload/nic/descriptor_memory.h"
#include "offload/nic/nic.h"

namespace pktpit::offload {

/// What a chip wrote back into a receive descriptor.
struct RxStatus {
    bool last = false;         ///< end of packet
    bool frame_error = false;  ///< damaged on the wire
    bool split = false;
    bool malformed = false;  ///< contradicts itself, or says that bytes went where there is no buffer
    uint32_t header_length = 0;
    uint32_t payload_length = 0;
};

/// `Chip` gives rx_descriptor_bytes, rx_tail_step, write_rx(words, buffer), rx_done(words) and
/// read_rx(words, layout).
template <class Chip>
class RxRing {
  public:
    /// `memory`: layout.rx_descriptors descriptors of the chip, aligned to a page.
    void start(std::byte* memory, const NicLayout& layout) {
        memory_ = memory;
        layout_ = layout;
        mask_ = layout.rx_descriptors - 1;
        slots_.assign(layout.rx_descriptors, Slot{});
        filled_ = taken_ = 0;
        doubts_ = 0;
        in_long_frame_ = false;
    }

    /// One descriptor stays empty: a head that meets the tail means an empty ring.
    [[nodiscard]] size_t room() const { return slots_.empty() ? 0 : mask_ - (filled_ - taken_); }

    size_t fill(std::span<const RxBuffer> buffers) {
        size_t count = 0;
        for (const size_t most = std::min(buffers.size(), room()); count < most; count++) {
            const RxBuffer& buffer = buffers[count];
            // Bit 0 of an address lies where the chip writes "done".
            if ((buffer.header | buffer.payload) & 1) break;
            const uint32_t index = filled_ & mask_;
            slots_[index] = buffer.slot;
            Chip::write_rx(descriptor(index), buffer);
            filled_++;
        }
        return count;
    }

    /// What to write into the tail register.
    [[nodiscard]] uint32_t tail() const { return (filled_ & mask_) * Chip::rx_tail_step; }

    std::pair<size_t, size_t> receive(std::span<RxFrame> frames, std::span<Slot> dropped, NicErrors& errors) {
        size_t received = 0;
        size_t lost = 0;
        while (received < frames.size() && lost < dropped.size() && taken_ != filled_) {
            const uint32_t index = taken_ & mask_;
            const DescriptorWords words = descriptor(index);
            if (!Chip::rx_done(words)) break;
            taken_++;
            const RxStatus status = Chip::read_rx(words, layout_);
            if (accept(status, errors)) {
                frames[received++] = {slots_[index], status.header_length, status.payload_length,
                                      status.split};
            } else {
                dropped[lost++] = slots_[index];
            }
        }
        return {received, lost};
    }

    /// `head`: what the chip's head register says. A chip that is ahead of the next buffer has written it
    /// back, or does within microseconds; one that has not by the third look works on other buffers than the
    /// driver waits for.
    [[nodiscard]] bool in_step(uint32_t head) {
        constexpr unsigned looks = 3;
        const uint32_t next = taken_ & mask_;
        const bool waits = taken_ != filled_ && !Chip::rx_done(descriptor(next));
        const bool ahead = waits && head / Chip::rx_tail_step != next;
        const bool again = ahead && looked_at_ == taken_ && doubts_ > 0;
        looked_at_ = taken_;
        doubts_ = !ahead ? 0 : again ? doubts_ + 1 : 1;
        return doubts_ < looks;
    }

    /// The device must be at rest.
    void stop(std::vector<Slot>& left) {
        for (; taken_ != filled_; taken_++)
            left.push_back(slots_[taken_ & mask_]);
        slots_.clear();
        filled_ = taken_ = 0;
    }

  private:
    [[nodiscard]] DescriptorWords descriptor(uint32_t index) const {
        return DescriptorWords(memory_ + size_t{index} * Chip::rx_descriptor_bytes);
    }

    /// True if it is a whole frame to be handed up; else counts why not. A frame over several descriptors is
    /// counted once, and all of its slots are dropped.
    bool accept(const RxStatus& status, NicErrors& errors) {
        if (in_long_frame_ || !status.last) {
            if (!in_long_frame_) errors.rx_too_long++;
            in_long_frame_ = !status.last;
            return false;
        }
        if (status.frame_error) {
            errors.rx_error_frames++;
            return false;
        }
        constexpr uint32_t ethernet_header = 14;
        // Without a header the whole frame is in the payload buffer: only a chip that did not split does so.
        const bool all_in_payload = status.header_length == 0 && !status.split;
        const uint32_t first = all_in_payload ? status.payload_length : status.header_length;
        if (status.malformed || first < ethernet_header || status.header_length > layout_.header_bytes ||
            status.payload_length > layout_.payload_bytes) {
            errors.rx_bad_descriptor++;
            return false;
        }
        if (status.header_length + status.payload_length > layout_.max_frame) {
            errors.rx_too_long++;
            return false;
        }
        if (status.payload_length > 0) (status.split ? errors.hardware_split : errors.unsplit)++;
        return true;
    }

    std::byte* memory_ = nullptr;
    NicLayout layout_;
    uint32_t mask_ = 0;
    uint32_t filled_ = 0;  ///< descriptors handed to the device, ever; wraps around
    uint32_t taken_ = 0;   ///< descriptors taken back, ever
    bool in_long_frame_ = false;
    uint32_t looked_at_ = 0;   ///< taken_ at the last look
    unsigned doubts_ = 0;      ///< looks in a row that found the chip ahead
    std::vector<Slot> slots_;  ///< by descriptor
};

}  // namespace pktpit::offload
