// SPDX-License-Identifier: BSD-3-Clause
/// The driver for Intel's gigabit controllers: one class over a chip description (e1000e.h, igb.h). The
/// worker that owns the port calls it. Virtual calls are one a batch; the loops over descriptors are
/// compiled for their chip.
///
/// `Chip` gives what RxRing and TxRing ask for, and: model, rx_head, rx_tail, tx_tail (doorbell offsets),
/// interrupt_cause, interrupt_set, interrupt_clear (offsets of ICR, IMS and IMC), check(layout),
/// configure(device, layout, places), enable(device, layout, promiscuous) and disable(device).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "offload/nic/device.h"
#include "offload/nic/gigabit.h"
#include "offload/nic/layout.h"
#include "offload/nic/rx_ring.h"
#include "offload/nic/statistics.h"
#include "offload/nic/tx_ring.h"

namespace pktpit::offload {

template <class Chip>
class GigabitNic final : public Nic {
  public:
    GigabitNic(Registers& registers, Delay& delay) : device_(registers, delay) {}

    [[nodiscard]] std::string_view model() const override { return Chip::model; }

    [[nodiscard]] size_t ring_bytes(const NicLayout& layout) const override {
        return rx_bytes(layout) + tx_bytes(layout);
    }

    Result<void> reset() override {
        running_ = false;
        if (auto done = reset_chip(); !done) return done;
        const auto mac = gigabit::read_mac(device_);
        if (!mac) return tl::unexpected(mac.error());
        mac_ = *mac;
        statistics_.restart(device_);
        gigabit::bring_link_up(device_);
        fresh_ = true;
        return {};
    }

    [[nodiscard]] MacAddress mac() const override { return mac_; }

    Result<void> start(const NicLayout& layout, DmaBuffer rings, bool promiscuous) override {
        if (running_) return fail("", "the NIC runs already", "stop() or reset() before start()");
        if (auto good = check_layout(layout, rings, ring_bytes(layout)); !good) return good;
        if (auto good = Chip::check(layout); !good) return good;
        if (mac_.is_zero()) return fail("", "the NIC was never reset", "reset() before start()");
        // What stop() left in the chip's descriptor caches must not come back to life.
        if (!fresh_) {
            if (auto done = reset_chip(); !done) return done;
            gigabit::bring_link_up(device_);
        }
        fresh_ = false;
        rx_.start(rings.bytes.data(), layout);
        tx_.start(rings.bytes.data() + rx_bytes(layout), layout);
        const gigabit::RingPlaces places{
            {rings.iova, layout.rx_descriptors * Chip::rx_descriptor_bytes},
            {rings.iova + rx_bytes(layout), layout.tx_descriptors * Chip::tx_descriptor_bytes}};
        gigabit::set_filters(device_, mac_);
        Chip::configure(device_, layout, places);
        device_.change(gigabit::reg::ctrl_ext, 0, gigabit::ctrl_ext_driver_loaded);
        if (auto done = Chip::enable(device_, layout, promiscuous); !done) {
            std::vector<Slot> none;
            stop_device(none);
            return done;
        }
        running_ = true;
        return {};
    }

    bool stop(std::vector<Slot>& left) override {
        if (!running_) return true;
        statistics_.collect(device_);
        return stop_device(left);
    }

    size_t fill(std::span<const RxBuffer> buffers) override {
        const size_t count = rx_.fill(buffers);
        if (count > 0) {
            before_doorbell();
            device_.write(Chip::rx_tail, rx_.tail());
        }
        return count;
    }
    [[nodiscard]] size_t rx_room() const override { return rx_.room(); }

    std::pair<size_t, size_t> receive(std::span<RxFrame> frames, std::span<Slot> dropped) override {
        return rx_.receive(frames, dropped, device_.errors());
    }

    size_t transmit(std::span<const TxFrame> frames) override {
        const uint32_t before = tx_.tail();
        const size_t count = tx_.transmit(frames, device_.errors());
        if (tx_.tail() != before) {
            before_doorbell();
            device_.write(Chip::tx_tail, tx_.tail());
        }
        return count;
    }
    size_t completed(std::span<Slot> slots) override { return tx_.completed(slots, device_.errors()); }

    [[nodiscard]] NicLink link() override { return gigabit::link(device_); }
    [[nodiscard]] bool in_step() override {
        if (!running_) return true;
        const uint32_t head = device_.read(Chip::rx_head);
        return head == 0xffffffff || rx_.in_step(head);  // one that has gone is told of by dead_reads
    }

    void set_interrupts(bool on) override {
        if (on) {
            device_.write(Chip::interrupt_set, gigabit::cause::used);
        } else {
            mask_interrupts();
        }
    }
    /// The cause register clears on read only where an interrupt is asserted (82574 datasheet 10.2.4.1), so
    /// what was read is written back too. What comes in between is seen by whoever polls the rings after
    /// this call, as it must.
    void acknowledge_interrupt() override {
        const uint32_t causes = device_.read(Chip::interrupt_cause);
        if (causes != 0 && causes != 0xffffffff) device_.write(Chip::interrupt_cause, causes);
    }

    [[nodiscard]] const NicErrors& errors() const override { return device_.errors(); }
    [[nodiscard]] std::vector<std::pair<std::string_view, uint64_t>> statistics() override {
        statistics_.collect(device_);
        return statistics_.values();
    }

  private:
    static size_t rx_bytes(const NicLayout& layout) {
        return whole_pages(size_t{layout.rx_descriptors} * Chip::rx_descriptor_bytes);
    }
    static size_t tx_bytes(const NicLayout& layout) {
        return whole_pages(size_t{layout.tx_descriptors} * Chip::tx_descriptor_bytes);
    }

    void mask_interrupts() {
        device_.write(Chip::interrupt_clear, 0xffffffff);
        // Posted writes are done when a read behind them is.
        static_cast<void>(device_.read(gigabit::reg::status));
    }

    Result<void> reset_chip() {
        mask_interrupts();
        if (auto done = gigabit::reset(device_); !done) return done;
        mask_interrupts();
        acknowledge_interrupt();
        return {};
    }

    bool stop_device(std::vector<Slot>& left) {
        running_ = false;
        fresh_ = false;
        mask_interrupts();
        Chip::disable(device_);
        const bool at_rest = gigabit::quiesce(device_);
        if (at_rest) {
            device_.change(gigabit::reg::ctrl_ext, gigabit::ctrl_ext_driver_loaded, 0);
        } else {
            static_cast<void>(reset_chip());
        }
        rx_.stop(left);
        tx_.stop(left);
        return at_rest;
    }

    Device device_;
    gigabit::Statistics statistics_;
    RxRing<Chip> rx_;
    TxRing<Chip> tx_;
    MacAddress mac_;
    bool running_ = false;
    bool fresh_ = false;  ///< reset, and not started since
};

}  // namespace pktpit::offload
