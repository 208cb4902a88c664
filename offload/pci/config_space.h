// SPDX-License-Identifier: BSD-3-Clause
/// A PCI function's configuration space as bytes that are not trusted: 64 of them where the reader was not
/// root, 256 for conventional PCI, 4,096 for PCIe, or anything a file says. Every read is bounds-checked, and
/// capability lists that loop end. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pktpit::offload {

class ConfigSpace {
  public:
    ConfigSpace() = default;
    /// At most the first 4,096 bytes are looked at.
    explicit ConfigSpace(std::string_view bytes) : bytes_(bytes.substr(0, 4096)) {}

    [[nodiscard]] size_t size() const { return bytes_.size(); }
    /// Does it reach beyond the header, to where the capabilities are? The kernel gives others than root 64
    /// bytes only.
    [[nodiscard]] bool has_capabilities() const { return size() >= 256; }

    /// Little-endian; nothing where the space ends before.
    [[nodiscard]] std::optional<uint8_t> u8(size_t offset) const;
    [[nodiscard]] std::optional<uint16_t> u16(size_t offset) const;
    [[nodiscard]] std::optional<uint32_t> u32(size_t offset) const;

    /// Offset of the capability with this id (PCI Local Bus 3.0, section 6.7).
    [[nodiscard]] std::optional<size_t> capability(uint8_t id) const;
    /// Offset of the extended capability with this id (PCIe Base 5.0, section 7.6).
    [[nodiscard]] std::optional<size_t> extended_capability(uint16_t id) const;

  private:
    std::string bytes_;
};

}  // namespace pktpit::offload
