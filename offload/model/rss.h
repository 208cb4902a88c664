// SPDX-License-Identifier: BSD-3-Clause
/// Receive side scaling: which of a NIC's receive queues, and so which core, a frame goes to. The Toeplitz
/// hash of Microsoft's definition ("RSS hashing types", with its example key, which DPDK and Linux drivers
/// take as default) over IPv4 addresses and UDP or TCP ports; an indirection table of 128 entries that names
/// queues in turn. What is no IPv4 goes to queue 0. Firmware that feeds the CPU calls it. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pktpit::model {

inline constexpr size_t rss_table_entries = 128;

/// Of source and destination address (and ports), in the order and byte order of the headers; at most 12
/// bytes.
uint32_t toeplitz(std::span<const std::byte> tuple);
/// 0 to `queues` - 1.
uint32_t rss_queue(std::span<const std::byte> frame, uint32_t queues);

}  // namespace pktpit::model
