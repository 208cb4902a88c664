// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/nic/model_nic.h"

#include <algorithm>

namespace pktpit::offload::test {
namespace {

constexpr uint32_t gone = 0xffffffff;
constexpr uint32_t ctrl = 0x0000;
constexpr uint32_t status = 0x0008;
constexpr uint32_t eecd = 0x0010;
constexpr uint32_t mdic = 0x0020;
constexpr uint32_t rctl = 0x0100;
constexpr uint32_t tctl = 0x0400;
constexpr uint32_t ral = 0x5400;
constexpr uint32_t rah = 0x5404;
constexpr uint32_t first_statistic = 0x4000;
constexpr uint32_t last_statistic = 0x4124;
constexpr uint32_t master_disable = 1U << 2;
constexpr uint32_t reset_bit = 1U << 26;

bool wide_high(uint32_t offset) {
    return offset == 0x408c || offset == 0x4094 || offset == 0x40c4 || offset == 0x40cc;
}
bool wide_low(uint32_t offset) {
    return wide_high(offset + 4);
}

}  // namespace

ModelNic::ModelNic(DmaMemory& memory) : memory_(memory) {}

uint32_t ModelNic::reg(uint32_t offset) const {
    const auto found = registers_.find(offset);
    return found == registers_.end() ? 0 : found->second;
}

bool ModelNic::master() const {
    return !(reg(ctrl) & master_disable);
}

uint32_t ModelNic::read(uint32_t offset) {
    read_offsets.insert(offset);
    if (dead) return gone;
    if (const auto found = overridden.find(offset); found != overridden.end()) return found->second;
    if (offset == status) {
        const uint32_t speed = 2U << 6;
        return (link_ ? 3U | speed : 1U) | (master() || never_at_rest ? 1U << 19 : 0);
    }
    if (offset == eecd) return no_eeprom ? 0 : 1U << 9;
    const uint32_t value = reg(offset);
    if (offset == interrupt_base() && icr_clears_on_read) {
        set(offset, 0);
        update_interrupt();
    } else if (offset >= first_statistic && offset <= last_statistic && !wide_low(offset)) {
        set(offset, 0);
        if (wide_high(offset)) set(offset - 4, 0);
    }
    return value;
}

void ModelNic::write(uint32_t offset, uint32_t value) {
    if (dead) return;
    const uint32_t icr = interrupt_base();
    const bool msix_layout = icr == 0x1500;
    const uint32_t ims = msix_layout ? 0x1508 : 0x00d0;
    const uint32_t imc = msix_layout ? 0x150c : 0x00d8;
    if (offset == ctrl) {
        set(ctrl, never_ending_reset ? value : value & ~reset_bit);
        if (value & reset_bit) reset();
    } else if (offset == icr) {
        set(icr, reg(icr) & ~value);
        update_interrupt();
    } else if (offset == ims) {
        set(ims, reg(ims) | value);
        update_interrupt();
    } else if (offset == imc) {
        set(ims, reg(ims) & ~value);
        update_interrupt();
    } else if (offset == mdic) {
        phy(value);
    } else if (offset == rx_queue().base + 0x18) {
        doorbells++;
        EXPECT_LT(value, reg(rx_queue().base + 8) / rx_queue().unit + (value == 0))
            << "receive tail out of ring";
        EXPECT_EQ(value * rx_queue().unit % rx_descriptor_bytes(), 0) << "tail within a descriptor";
        set(offset, value);
    } else if (offset == tx_queue().base + 0x18) {
        doorbells++;
        EXPECT_LT(value, reg(tx_queue().base + 8) / tx_queue().unit + (value == 0))
            << "transmit tail out of ring";
        set(offset, value);
        if (!hold_transmit) run_transmit();
    } else if (offset == rx_queue().base + 0x10 || offset == tx_queue().base + 0x10) {
        EXPECT_FALSE(reg(offset == rx_queue().base + 0x10 ? rctl : tctl) & 2) << "head written while enabled";
        set(offset, value);
    } else if (offset == rx_queue().base + 8 || offset == tx_queue().base + 8) {
        EXPECT_EQ(value % 128, 0) << "ring length";
        set(offset, value);
    } else {
        set(offset, value);
    }
}

void ModelNic::reset() {
    if (reset_ends_link) link_ = false;
    if (reset_keeps_registers) {
        set(ral, 0x00000002);
        set(rah, 1U << 31 | 0x0100);
        return;
    }
    const uint32_t kept = reg(ctrl) & (never_ending_reset ? reset_bit : 0);
    registers_.clear();
    set(ctrl, kept);
    set(ral, 0x00000002);
    set(rah, 1U << 31 | 0x0100);
    sending_.clear();
    asserted_ = false;
    defaults();
}

void ModelNic::phy(uint32_t command) {
    EXPECT_EQ(command >> 21 & 31, 1) << "PHY address";
    EXPECT_EQ(command >> 16 & 31, 0) << "PHY register";
    if (phy_powered_down) phy_control_ = 0x0800;
    if (command & 1U << 26) {
        phy_control_ = static_cast<uint16_t>(command & ~0x200U);
        phy_powered_down = false;
        set(mdic, command | 1U << 28);
        link_ = (command & 0x0a00) == 0x0200;
    } else {
        set(mdic, (command & 0xffff0000) | phy_control_ | 1U << 28);
    }
    if (phy_control_ & 0x0800) link_ = false;
}

bool ModelNic::accepts(const Frame& frame) const {
    const auto byte = [&frame](size_t i) { return static_cast<uint32_t>(frame[i]); };
    const bool broadcast =
        std::all_of(frame.begin(), frame.begin() + 6, [](std::byte b) { return b == std::byte{255}; });
    if (broadcast) return reg(rctl) & 1U << 15;
    if (byte(0) & 1) return reg(rctl) & 1U << 4;
    if (reg(rctl) & 1U << 3) return true;
    const uint32_t low = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    const uint32_t high = byte(4) | byte(5) << 8 | 1U << 31;
    for (uint32_t i = 0; i < 16; i++)
        if (reg(ral + 8 * i) == low && reg(rah + 8 * i) == high) return true;
    return false;
}

bool ModelNic::receive(const Frame& wire) {
    if (dead || !link_ || !master() || !receiver_on() || !accepts(wire)) return false;
    if (wire.size() + 4 > 1522 && !(reg(rctl) & 1U << 5)) {
        count(0x40ac);
        return false;
    }
    Frame frame = wire;
    if (!(reg(rctl) & 1U << 26)) frame.resize(frame.size() + 4);
    const size_t header = header_length(frame);
    if (owned(rx_queue(), rx_descriptor_bytes()) < rx_descriptors_for(frame.size(), header)) {
        count(0x4010);
        return false;
    }
    deliver(frame, header);
    count(0x4074);
    count_wide(0x4088, wire.size() + 4);
    raise(1U << 7);
    return true;
}

void ModelNic::count_wide(uint32_t offset, uint64_t octets) {
    const uint64_t sum = (reg(offset) | uint64_t{reg(offset + 4)} << 32) + octets;
    set(offset, static_cast<uint32_t>(sum));
    set(offset + 4, static_cast<uint32_t>(sum >> 32));
}

uint32_t ModelNic::owned(const Queue& queue, uint32_t bytes) const {
    const uint32_t size = reg(queue.base + 8) / queue.unit;
    if (size == 0) return 0;
    return (reg(queue.base + 0x18) + size - reg(queue.base + 0x10)) % size * queue.unit / bytes;
}

Iova ModelNic::take(const Queue& queue, uint32_t bytes) {
    const uint32_t head = reg(queue.base + 0x10);
    const uint32_t size = std::max(reg(queue.base + 8) / queue.unit, 1U);
    set(queue.base + 0x10, (head + bytes / queue.unit) % size);
    return ring(queue) + size_t{head} * queue.unit;
}

void ModelNic::write_back(Iova at, const DescriptorImage& image, size_t words, bool last_of_frame) {
    DescriptorImage changed = image;
    if (last_of_frame && change_rx) {
        change_rx(changed);
        change_rx = nullptr;
    }
    for (size_t i = words; i-- > 0;)
        if (i != 1) memory_.write_word(at + 8 * i, changed[i]);
    memory_.write_word(at + 8, changed[1]);
}

void ModelNic::run_transmit(size_t most) {
    for (; most > 0 && !dead && master() && transmitter_on() && owned(tx_queue(), 16) > 0; most--) {
        const Iova at = take(tx_queue(), 16);
        const Iova address = memory_.read_word(at);
        const uint64_t word = memory_.read_word(at + 8);
        check_tx(word);
        const size_t begin = sending_.size();
        const size_t length = word & 0xffff;
        EXPECT_GT(length, 0) << "empty transmit descriptor";
        sending_.resize(begin + length);
        memory_.read(address, std::span(sending_).subspan(begin));
        if (word & 1U << 24) {
            EXPECT_TRUE(word & 1U << 25) << "without CRC";
            count(0x4080);
            count_wide(0x4090, std::max<size_t>(sending_.size(), 60) + 4);
            if ((reg(tctl) & 1U << 3) && sending_.size() < 60) sending_.resize(60);
            sent.push_back(std::move(sending_));
            sending_.clear();
        }
        if (word & 1U << 27) {
            memory_.write_word(at + 8, (word & 0xffffffff) | 1ULL << 32 | tx_status << 32);
            raise(1);
        }
    }
}

void ModelNic::set_link(bool up) {
    link_ = up;
    raise(4);
}

void ModelNic::raise(uint32_t causes) {
    set(interrupt_base(), reg(interrupt_base()) | causes);
    update_interrupt();
}

void ModelNic::update_interrupt() {
    const uint32_t ims = interrupt_base() == 0x1500 ? 0x1508 : 0x00d0;
    const bool now = (reg(interrupt_base()) & reg(ims)) != 0;
    if (now && !asserted_) interrupts++;
    asserted_ = now;
}

}  // namespace pktpit::offload::test
