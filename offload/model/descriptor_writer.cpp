// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/descriptor_writer.h"

#include <algorithm>
#include <cstring>

namespace pktpit::model {

DescriptorWriter::DescriptorWriter(Nic& nic, uint64_t ring, uint32_t entries, unsigned batch, uint64_t cookie)
    : nic_(nic),
      ring_(ring),
      entries_(entries),
      batch_(std::clamp(batch, 1U, most_batch)),
      cookie_(cookie),
      copy_(batch_ > 1 ? size_t{entries} * descriptor_bytes : 0) {}

void DescriptorWriter::put(std::span<const std::byte> descriptor, uint64_t packet) {
    const uint64_t offset = (put_++ & (entries_ - 1)) * descriptor_bytes;
    if (batch_ == 1)
        return nic_.dma().write_copy(ring_ + offset, descriptor,
                                     {Requester::no_cookie, packet, false, TlpType::memory_write});
    std::memcpy(&copy_[offset], descriptor.data(), descriptor_bytes);
    packet_ = packet;
    write();
}

void DescriptorWriter::done() {
    busy_ = false;
    write();
}

/// An entry is not put again before who reads the ring has given it back: its copy stays until then.
void DescriptorWriter::write() {
    while (!busy_ && written_ < put_) {
        const uint64_t entry = written_ & (entries_ - 1);
        const uint64_t count = std::min({uint64_t{batch_}, put_ - written_, entries_ - entry});
        busy_ = true;  // dma_done() may come at once
        written_ += count;
        nic_.dma().write(ring_ + entry * descriptor_bytes, &copy_[entry * descriptor_bytes],
                         static_cast<uint32_t>(count * descriptor_bytes),
                         {cookie_, packet_, false, TlpType::memory_write});
    }
}

}  // namespace pktpit::model
