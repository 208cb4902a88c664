// SPDX-License-Identifier: BSD-3-Clause
/// Reads foreign bytes from front to back without ever leaving them. The first thing wrong is kept in a Fault
/// shared with all cursors over the same record; after it every read gives zeros and nothing is left, so that
/// parsers ask once at the end and their loops end by themselves. Network byte order. One thread; does not
/// allocate unless something is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/address.h"

namespace pktpit::fib {

/// What is wrong with a record, and at which byte of the file.
struct Fault {
    bool present = false;
    uint64_t offset = 0;
    std::string message;
    std::string expected;
};

class ByteCursor {
  public:
    /// `offset`: of the first byte in the file. `fault` must outlive the cursor and its parts.
    ByteCursor(std::span<const uint8_t> bytes, uint64_t offset, Fault& fault)
        : bytes_(bytes), offset_(offset), fault_(&fault) {}

    [[nodiscard]] bool good() const { return !fault_->present; }
    [[nodiscard]] size_t left() const { return fault_->present ? 0 : bytes_.size(); }
    [[nodiscard]] uint64_t offset() const { return offset_; }
    /// The next byte without taking it; 0 if there is none.
    [[nodiscard]] uint8_t peek() const { return left() ? bytes_[0] : 0; }

    /// `what` names the field in the error where the bytes end too early.
    uint8_t u8(const char* what) { return static_cast<uint8_t>(number<1>(what)); }
    uint16_t u16(const char* what) { return static_cast<uint16_t>(number<2>(what)); }
    uint32_t u32(const char* what) { return number<4>(what); }
    /// An empty span where there are not so many.
    std::span<const uint8_t> bytes(size_t count, const char* what) {
        if (!has(count, what)) return {};
        const auto taken = bytes_.first(count);
        skip_unchecked(count);
        return taken;
    }
    /// The next `count` bytes as a cursor of their own.
    ByteCursor part(size_t count, const char* what) {
        const uint64_t start = offset_;
        return {bytes(count, what), start, *fault_};
    }
    IpAddress address(Family family, const char* what) {
        const auto octets = bytes(family == Family::ipv4 ? 4 : 16, what);
        if (octets.empty()) return {};
        return family == Family::ipv4 ? IpAddress::v4(octets.data()) : IpAddress::v6(octets.data());
    }
    /// Something else is wrong here. Only the first fault counts.
    void fail(std::string message, std::string expected = {}) {
        if (fault_->present) return;
        *fault_ = {true, offset_, std::move(message), std::move(expected)};
    }
    /// Whatever is left is wrong.
    void expect_end(const char* behind_what) {
        if (left())
            fail(std::to_string(left()) + " bytes behind " + behind_what, "nothing: the lengths disagree");
    }

  private:
    template <size_t N>
    uint32_t number(const char* what) {
        if (!has(N, what)) return 0;
        uint32_t value = 0;
        for (size_t i = 0; i < N; i++)
            value = value << 8 | bytes_[i];
        skip_unchecked(N);
        return value;
    }
    bool has(size_t count, const char* what) {
        if (fault_->present) return false;
        if (count <= bytes_.size()) return true;
        fail(std::string(what) + " ends too early",
             std::to_string(count) + " bytes, found " + std::to_string(bytes_.size()));
        return false;
    }
    void skip_unchecked(size_t count) {
        bytes_ = bytes_.subspan(count);
        offset_ += count;
    }

    std::span<const uint8_t> bytes_;
    uint64_t offset_;
    Fault* fault_;
};

}  // namespace pktpit::fib
