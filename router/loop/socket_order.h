// SPDX-License-Identifier: BSD-3-Clause
/// The worker's side of struct pp_socket_order (bpf/abi.h): it says that it moves, learns when the port stage
/// has stood in for it, tells frames that are void since, and says when they are gone. One for each socket
/// that a worker receives from. The worker's thread, but for begin(); no lock and no atomic
/// read-modify-write: of each word one side is the writer.
///
/// A turn: look(), frames taken and asked is_void() if there are void ones, took() or found_empty(); and
/// before any of the frames leaves moving(), a barrier, overtaken().
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "bpf/abi.h"

namespace pktpit::router {

class SocketOrder {
  public:
    SocketOrder() = default;
    [[nodiscard]] bool begun() const { return shared_ != nullptr; }
    /// A socket that nothing has been handed to; what an earlier one has not answered is forgotten. The
    /// daemon's, before the stage has the socket.
    static SocketOrder begin(pp_socket_order& shared) {
        SocketOrder order;
        order.shared_ = &shared;
        order.moves_ = load(shared.moves);
        order.void_to_ = load(shared.void_to);
        order.answer(load(shared.sent));
        store(shared.settled, order.void_to_);
        return order;
    }

    /// The number in front of a frame; none where the driver has no room for one.
    [[nodiscard]] static std::optional<uint32_t> number_of(const uint8_t* frame) {
        pp_order_tag tag;
        std::memcpy(&tag, frame - sizeof tag, sizeof tag);
        return tag.magic == PP_ORDER_MAGIC ? std::optional(tag.number) : std::nullopt;
    }

    /// Before frames are taken. True: some of them may be void.
    [[nodiscard]] bool look() {
        if (const uint32_t now = load(shared_->void_to); now != void_to_) {
            void_to_ = now;
            voids_ = true;
            settled_ = false;
        }
        return voids_;
    }
    /// Frames up to this one are void, as of the last look().
    [[nodiscard]] uint32_t void_to() const { return void_to_; }
    /// Of a frame taken after look(), in order. Numbers follow each other: after the first that is not void
    /// none is. Without a number (its driver has no room for one) all are until the ring is empty.
    [[nodiscard]] bool is_void(std::optional<uint32_t> number) {
        if (!voids_) return false;
        voids_ = number ? static_cast<int32_t>(*number - void_to_) <= 0 : !settled_;
        return voids_;
    }
    /// Frames were taken, the last one with this number.
    void took(std::optional<uint32_t> last) {
        answer(last ? *last : load(shared_->sent));
        moving();
    }
    /// The ring had nothing. Nothing void can be in it; the kernel may still have some that a stage has
    /// handed over in the same breath, which their numbers tell.
    void found_empty() {
        if (settled_) return;
        settled_ = true;
        if (static_cast<int32_t>(load(shared_->answered) - void_to_) < 0) answer(void_to_);
        __atomic_store_n(&shared_->settled, void_to_, __ATOMIC_RELEASE);
    }
    /// Before it sleeps: what the kernel has dropped of what was handed over is not waited for.
    void expect_nothing() {
        if (const uint32_t sent = load(shared_->sent); sent != load(shared_->answered)) answer(sent);
    }
    /// Frames up to this one have left. Of auto ports.
    void left(uint32_t number) { __atomic_store_n(&shared_->done, number, __ATOMIC_RELEASE); }

    /// Frames are about to leave. The caller has a barrier between this and overtaken().
    void moving() { __atomic_store_n(&shared_->moves, ++moves_, __ATOMIC_RELEASE); }
    /// The stage has stood in since look(): what was taken since may not leave any more.
    [[nodiscard]] bool overtaken() const { return load(shared_->void_to) != void_to_; }

  private:
    static uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
    static void store(uint32_t& word, uint32_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }
    void answer(uint32_t number) { store(shared_->answered, number); }

    pp_socket_order* shared_ = nullptr;
    uint32_t void_to_ = 0;
    uint32_t moves_ = 0;
    bool voids_ = false;
    bool settled_ = true;
};

}  // namespace pktpit::router
