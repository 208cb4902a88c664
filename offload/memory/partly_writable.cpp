// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/partly_writable.h"

namespace pktpit::offload {

Result<void> map_partly_writable(DmaDomain& domain, std::span<std::byte> memory, Iova iova,
                                 std::span<const ByteRange> writable) {
    uint64_t done = 0;
    const auto map_to = [&](uint64_t end, DmaAccess access) -> Result<void> {
        if (end == done) return {};
        auto mapped = domain.map(memory.subspan(done, end - done), iova + done, access);
        if (!mapped && done != 0) (void)domain.unmap(iova, done);
        if (mapped) done = end;
        return mapped;
    };
    for (const ByteRange& range : writable) {
        if (range.bytes == 0) continue;
        if (auto mapped = map_to(range.first, DmaAccess::read); !mapped) return mapped;
        if (auto mapped = map_to(range.first + range.bytes, DmaAccess::read_write); !mapped) return mapped;
    }
    return map_to(memory.size(), DmaAccess::read);
}

}  // namespace pktpit::offload
