// SPDX-License-Identifier: BSD-3-Clause
/// The memory that a modelled device reaches: pieces at IOVAs. An access outside of them is a test failure,
/// as it is a fault at an IOMMU.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "offload/dma.h"

namespace pktpit::offload::test {

class DmaMemory {
  public:
    void map(Iova iova, std::span<std::byte> bytes) { pieces_.push_back({iova, bytes}); }

    void read(Iova iova, std::span<std::byte> into) {
        if (std::byte* from = find(iova, into.size())) std::memcpy(into.data(), from, into.size());
    }
    void write(Iova iova, std::span<const std::byte> bytes) {
        writes++;
        if (std::byte* to = find(iova, bytes.size())) std::memcpy(to, bytes.data(), bytes.size());
    }
    uint64_t read_word(Iova iova) {
        uint64_t word = 0;
        read(iova, std::as_writable_bytes(std::span(&word, 1)));
        return word;
    }
    void write_word(Iova iova, uint64_t word) { write(iova, std::as_bytes(std::span(&word, 1))); }

    uint64_t writes = 0;

  private:
    struct Piece {
        Iova iova;
        std::span<std::byte> bytes;
    };
    std::byte* find(Iova iova, size_t size) {
        for (const Piece& piece : pieces_)
            if (iova >= piece.iova && size <= piece.bytes.size() &&
                iova - piece.iova <= piece.bytes.size() - size)
                return piece.bytes.data() + (iova - piece.iova);
        ADD_FAILURE() << "DMA of " << size << " bytes at " << std::hex << iova << ": nothing is mapped there";
        return nullptr;
    }
    std::vector<Piece> pieces_;
};

}  // namespace pktpit::offload::test
