// SPDX-License-Identifier: BSD-3-Clause
/// The maps that all port programs of one generation share, made as the object file declares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "bpf/abi.h"
#include "bpf/filter_layout.h"
#include "fib/image.h"
#include "router/dataplane/dataplane.h"

namespace pktpit::router {

class SumMaps;

/// Memory of an mmapable array map, seen by the program and by this process alike. Unmapped on destruction.
class MappedImage {
  public:
    MappedImage() = default;
    /// Maps all values. `writable` is false for one that an older daemon has left.
    static Result<MappedImage> map(int map_fd, bool writable);
    ~MappedImage();
    MappedImage(MappedImage&& other) noexcept;
    MappedImage& operator=(MappedImage&& other) noexcept;

    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

  private:
    std::span<std::byte> memory_;
};

struct PortMaps {
    Fd fib_image;
    Fd counters;
    Fd route_counters;
    Fd counted_routes;
    Fd tx_ports;    ///< set_tx_port()
    Fd tx_devices;  ///< the same, and never taken away from a port that is there
    Fd punts;
    Fd split_sockets;
    Fd observing;
    Fd observed;
    Fd observations;
    Fd samples;  ///< of one CPU, until there is an auto port
    Fd order;
    Fd filter_image;  ///< of one page and one counter, until there are filters
    Fd filter_counters;
    Fd guard;
    Fd police_shares;
};

/// Frames for the port leave by the device, run through the program of an egress first (0: through none).
/// `native`: also those that native programs redirect. Errors: errno.
[[nodiscard]] bool set_tx_port(const PortMaps& maps, uint16_t port, uint32_t ifindex, bool native,
                               int egress = 0);
/// Nothing leaves by the port any more.
void remove_tx_port(const PortMaps& maps, uint16_t port);

/// What a port's program is loaded with.
struct PortProgram {
    uint16_t port = 0;
    /// Of a split or auto port: the table with what does not go to the control loop.
    std::optional<fib::TableId> split_table{};
    bool observed = false;  ///< the program that writes down what it does (bpf/observe.h)
    /// Of an auto port: the table with the host's addresses alone.
    std::optional<fib::TableId> cold_table{};
    bool vrfs = false;          ///< interfaces may have tables of their own
    bool watch_daemon = false;  ///< packets are the kernel's while the daemon stands still (/heartbeat)
    /// Packets of the port meet filters, in a block of this shape.
    std::optional<pp_filter_shape> filters{};
    uint32_t guards = 0;  ///< PP_GUARD_RPF and so on
    /// Set: the program that asks this device's driver for VLAN tags (bpf/metadata_tag.h), for native mode on
    /// it.
    uint32_t tags_of = 0;
    /// The device's frames may lack checksums, and the program runs in native mode (bpf/complete_checksum.h).
    bool completes_checksums = false;
    /// Set: the program that adds what workers send (bpf/aggregate.h). Outlives the loading.
    const SumMaps* sums = nullptr;
};

/// Counts that an earlier daemon has left (earlier_maps.h): used instead of new maps. All three or none.
struct EarlierCounts {
    Fd counters;
    Fd route_counters;
    Fd counted_routes;
};

Result<PortMaps> make_port_maps(const pp_fib_geometry& geometry, EarlierCounts earlier);

/// Destinations that auto ports' stages have seen, by CPU.
Result<Fd> make_samples_map();

/// Memory of filters in the kernel, and the counters of their rules.
struct FilterMaps {
    Fd image;
    Fd counters;
};
Result<FilterMaps> make_filter_maps(const pp_filter_shape& shape);
/// Sums over all CPUs.
std::vector<pp_filter_counters> read_filter_counters(int counters_map, uint32_t first, uint32_t count);

/// The port stage for one port, verified and loaded, bound to the maps. Errors carry the verifier's last
/// lines.
Result<Fd> load_port_stage(const PortMaps& maps, const pp_fib_geometry& geometry, const PortProgram& program);

/// Sum over all CPUs.
pp_port_counters read_port_counters(int counters_map, uint16_t port);

}  // namespace pktpit::router
