// SPDX-License-Identifier: BSD-3-Clause
/// What host and peer device say to each other, at the start of the device's memory: which windows are
/// registered, which programs there are and of what generation, counters, and the counts of the two queues of
/// frames. Little-endian, by bus address or by offset from the memory's start. The host writes what is its
/// own, the device what is its own; each trusts nothing of the other's. Plain values; any thread.
///
/// A new table of windows and programs: the host makes `serial` odd, writes, stores `generation`, and makes
/// `serial` even. The device loads what is there at an even serial that has not moved meanwhile; programs
/// that it had go on until then, if their generation lets them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pktpit::offload {

inline constexpr uint64_t peer_memory_magic = 0x3176656450746b50;  // "PktPdev1"
inline constexpr size_t most_peer_windows = 128;
inline constexpr size_t most_peer_programs = 96;
inline constexpr size_t most_peer_lanes = 16;  ///< ports

struct PeerControl {
    // The host's.
    uint64_t magic;
    uint64_t bus_address;  ///< of the memory's first byte
    uint64_t serial;
    uint64_t generation;  ///< older programs are not executed; 0: none is, the memory is revoked
    uint32_t windows;
    uint32_t programs;
    uint64_t reserved[27];
    // The device's, in cache lines of their own.
    uint64_t turns;     ///< goes on as long as the device works; nothing of the image is held between two
    uint64_t loaded;    ///< serial of the last table that was loaded
    uint64_t refused;   ///< windows and programs of it that were not taken
    char refusal[232];  ///< of the last one, why; ends with a 0
};
static_assert(sizeof(PeerControl) == 512 && offsetof(PeerControl, turns) == 256);

struct PeerWindowEntry {
    static constexpr uint32_t read = 1, write = 2, doorbell = 4, own = 8;
    uint64_t base;
    uint64_t bytes;
    uint32_t flags;
    char name[44];  ///< ends with a 0
};
static_assert(sizeof(PeerWindowEntry) == 64);

enum class PeerRole : uint8_t { receive = 1, refill, transmit, sent, take, hand_over };
inline constexpr uint8_t last_peer_role = 6;

struct PeerProgramEntry {
    uint64_t offset;
    uint32_t bytes;
    uint32_t incarnation;  ///< another than before: its rings begin anew
    uint16_t port;         ///< as the FIB image numbers them
    uint8_t lane;          ///< as frames in the queues name it
    uint8_t role;          ///< PeerRole
    uint8_t reserved[12];
};
static_assert(sizeof(PeerProgramEntry) == 32);

/// Of a lane; the device's.
struct PeerLaneCounters {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t forwarded;    ///< came in here, and left somewhere by the device's own decision
    uint64_t handed_over;  ///< to the host, which decides
    uint64_t queue_full;   ///< were to be, and found no room
    uint64_t egress_full;  ///< were to leave here, and found no room, or no NIC
    uint64_t rx_error;     ///< descriptors that say so, or that cannot be
    uint64_t commits;      ///< batches that left here
    uint64_t doorbells;    ///< of these batches
    uint64_t stale;        ///< turns in which the lane's programs were too old
    uint64_t reserved[4];
};
static_assert(sizeof(PeerLaneCounters) == 128);

/// Where it all lies.
struct PeerMemoryMap {
    static constexpr uint64_t to_host_tail = 0x1000, to_host_completions = 0x1040;
    static constexpr uint64_t from_host_tail = 0x1080, from_host_completions = 0x10c0;
    static constexpr uint64_t windows = 0x2000;
    static constexpr uint64_t programs = 0x4000;
    static constexpr uint64_t counters = 0x5000;
    static constexpr uint64_t program_bytes = 0x6000;
    static constexpr uint64_t end = 0x20000;  ///< queues, image, rings and slots behind it as windows say
};
static_assert(PeerMemoryMap::windows + most_peer_windows * sizeof(PeerWindowEntry) <=
              PeerMemoryMap::programs);
static_assert(PeerMemoryMap::programs + most_peer_programs * sizeof(PeerProgramEntry) <=
              PeerMemoryMap::counters);
static_assert(PeerMemoryMap::counters + most_peer_lanes * sizeof(PeerLaneCounters) <=
              PeerMemoryMap::program_bytes);

/// A word that the other side writes.
template <class T>
[[nodiscard]] T load_shared(const T& word) {
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}
template <class T>
void store_shared(T& word, T value) {
    std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

}  // namespace pktpit::offload
