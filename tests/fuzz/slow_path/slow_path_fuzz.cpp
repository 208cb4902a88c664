// SPDX-License-Identifier: BSD-3-Clause
/// Frames from the wire, in any order, through the slow path: over a FIB image of any content, or over one
/// that leads somewhere. What must hold: no byte is read or written beyond what is there (sanitizers), what
/// leaves is a frame, what waits stays within its bounds, and every frame is accounted for.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "fib/image.h"
#include "router/forward/packet.h"
#include "router/forward/partial_checksum.h"
#include "router/slow_path/slow_path.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/input.h"

namespace {

using pktpit::fuzz::demand;
using pktpit::fuzz::Input;
using namespace pktpit;
using namespace pktpit::router;

constexpr uint8_t net = 10;
constexpr uint8_t kinds = PP_ADJ_KERNEL + 2;  // one that nobody knows among them

/// An adjacency of any kind and MTU.
pp_fib_adjacency adjacency(uint8_t kind, uint8_t mtu, uint8_t port) {
    pp_fib_adjacency value{};
    value.dst_mac[0] = 2;
    value.kind = kind % kinds;
    value.port = port % 4;
    value.mtu = 20U + mtu * 8U;
    value.interface = static_cast<uint16_t>(1 + kind % 3);
    if (port & 0x80) value.tpid[0] = 0x0081;
    if (port & 0x40) value.tpid[1] = 0x0081;
    return value;
}

/// A FIB image written without its writer, so that it can hold what no writer writes; made once, since
/// clearing its half a megabyte takes longer than a run.
class RawImage {
  public:
    RawImage() : memory_(geometry_.image_bytes + 64) {
        void* at = memory_.data();
        size_t space = memory_.size();
        base_ = static_cast<std::byte*>(std::align(64, geometry_.image_bytes, at, space));
        clear();
    }
    [[nodiscard]] ImageView view() const { return {base_, &geometry_}; }

    void reset() {
        if (overwritten_) clear();
        for (const size_t entry : std::exchange(entries_, {}))
            write_entry(entry, 0);
        routes_ = 0;
        // One net of each kind to begin with, so that errors have a way back.
        for (uint8_t kind = 0; kind < kinds; kind++)
            route(static_cast<uint16_t>(net << 8 | kind), adjacency(kind, 70, 1));
    }
    /// A route for all addresses that begin with these two bytes, of either family.
    void route(uint16_t prefix, const pp_fib_adjacency& adjacency) {
        routes_ = routes_ % 31 + 1;
        at<pp_fib_adjacency>(geometry_.adjacency_offset)[routes_] = adjacency;
        at<pp_fib_group>(geometry_.group_offset)[routes_] = {routes_, 0, 0, 0};
        write_entry(prefix, routes_);
        entries_.push_back(prefix);
    }
    /// Anything at all, but for the geometry, which no reader takes from the image.
    void overwrite(std::span<const uint8_t> with) {
        if (with.empty()) return;
        for (size_t byte = sizeof(geometry_); byte < geometry_.image_bytes; byte++)
            base_[byte] = static_cast<std::byte>(with[byte % with.size()]);
        overwritten_ = true;
    }

  private:
    template <class T>
    T* at(uint32_t offset) {
        return reinterpret_cast<T*>(base_ + offset);
    }
    void write_entry(size_t entry, uint32_t group) { at<uint32_t>(geometry_.node_offset)[entry] = group; }
    void clear() {
        std::memset(base_, 0, geometry_.image_bytes);
        // Both families of the default table begin at one root, the first of the nodes.
        constexpr uint32_t root = PP_FIB_NODE | uint32_t{PP_FIB_ROOT} << 28;
        at<pp_fib_table>(geometry_.table_offset)[PP_FIB_DEFAULT_TABLE] = {root, root};
        for (uint16_t port = 1; port < 4; port++) {
            pp_fib_port& value = at<pp_fib_port>(geometry_.port_offset)[port];
            value.mac[0] = 2;
            value.flags = PP_PORT_UP;
            value.interface = port;
        }
        overwritten_ = false;
    }

    const pp_fib_geometry geometry_ = fib::plan_geometry({.ports = 4,
                                                          .vlans = 16,
                                                          .groups = 32,
                                                          .buckets = 16,
                                                          .adjacencies = 32,
                                                          .tables = 2,
                                                          .roots = 1,
                                                          .node_bytes = 512 << 10});
    std::vector<std::byte> memory_;
    std::byte* base_ = nullptr;
    std::vector<size_t> entries_;
    uint32_t routes_ = 0;
    bool overwritten_ = false;
};

/// Answers from the input, so that the fuzzer finds the combinations.
class Environment : public SlowPathEnvironment {
  public:
    explicit Environment(RawImage& image) : image_(image) {}

    ImageView image() const override { return image_.view(); }
    bool transmit(uint16_t, std::span<const std::span<const uint8_t>> parts) override {
        size_t size = 0;
        uint32_t read = 0;
        for (const auto& part : parts) {
            for (const uint8_t byte : part)
                read += byte;
            size += part.size();
        }
        sink = read;
        demand(size >= 34 && size <= 70000);
        return (answers & 1) == 0;
    }
    void resolve(uint16_t interface, const IpAddress& next_hop) override { asked = {interface, next_hop}; }
    void withdraw(uint16_t, const IpAddress&) override {}
    std::optional<IpAddress> address_in_net_of(uint16_t, const IpAddress& address) const override {
        if (answers & 2) return std::nullopt;
        return own(address.family, false);
    }
    std::optional<IpAddress> next_hop_of(uint32_t adjacency) const override {
        if (adjacency % 3 == 0) return std::nullopt;
        return IpAddress::v4(0x0a000000 + adjacency);
    }
    std::optional<IpAddress> source_address(uint16_t, Family family, bool link_local) const override {
        if (answers & 2) return std::nullopt;
        return own(family, link_local);
    }
    std::optional<IpAddress> router_address(Family family, uint16_t /*interface*/) const override {
        if (answers & 4) return std::nullopt;
        return own(family, false);
    }
    bool is_broadcast(const IpAddress& address, uint16_t /*interface*/) const override {
        return (address.bytes[3] & 0x7f) == 0x7f;
    }
    std::optional<pp_fib_adjacency> link_of(uint16_t interface) const override {
        if (answers & 8) return std::nullopt;
        pp_fib_adjacency link{};
        link.port = interface;
        link.mtu = 1500;
        link.tpid[0] = answers;
        link.interface = interface;
        return link;
    }
    std::optional<MacAddress> neighbour(uint16_t, const IpAddress&) const override {
        if (answers & 16) return MacAddress{{2, 0, 0, 0, 0, 9}};
        return std::nullopt;
    }

    uint8_t answers = 0;
    std::pair<uint16_t, IpAddress> asked;
    volatile uint32_t sink = 0;

  private:
    static std::optional<IpAddress> own(Family family, bool link_local) {
        const uint8_t six[16] = {static_cast<uint8_t>(link_local ? 0xfe : 0x20), 0x80, 1};
        return family == Family::ipv4 ? IpAddress::v4(0x0a000001) : IpAddress::v6(six);
    }
    RawImage& image_;
};

/// Mostly at one of the nets that there are.
void aim(uint8_t* address) {
    if (address[0] & 0x80) return;
    address[0] = net;
    address[1] %= kinds;
}

/// Makes what forward() would refuse at once pass its first checks: the rest is what is to be reached.
void mend(std::vector<uint8_t>& frame) {
    if (frame.size() < 34) return;
    std::memset(frame.data(), 0, 12);
    frame[0] = 2;
    uint8_t* ip = frame.data() + 14;
    const size_t left = frame.size() - 14;
    if (frame[13] & 1) {
        if (left < 40) return;
        frame[12] = 0x86, frame[13] = 0xdd;
        ip[0] = 0x60;
        aim(ip + 8);
        aim(ip + 24);
        ip[4] = static_cast<uint8_t>((left - 40) >> 8), ip[5] = static_cast<uint8_t>(left - 40);
        return;
    }
    frame[12] = 8, frame[13] = 0;
    size_t header = std::max<size_t>(ip[0] & 15, 5);
    header = std::min(header * 4, left / 4 * 4);
    ip[0] = static_cast<uint8_t>(0x40 | header / 4);
    ip[2] = static_cast<uint8_t>(left >> 8), ip[3] = static_cast<uint8_t>(left);
    aim(ip + 12);
    aim(ip + 16);
    // Every other option is one that a router acts on.
    if (header > 20 && ip[20] & 1) ip[20] = ip[20] & 2 ? 7 : 68;
    checksum_ipv4({ip, header});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    static RawImage image;
    image.reset();
    Environment environment(image);
    SlowPath slow_path(environment, {.rate = 1000, .rate_per_prefix = 1000, .burst_per_prefix = 100},
                       input.byte() % 8);
    Clock::time_point now{std::chrono::hours(1)};
    while (!input.empty()) {
        const uint8_t step = input.byte();
        environment.answers = input.byte();
        switch (step % 16) {
            case 0:
                slow_path.tick(now += std::chrono::milliseconds(step * 20));
                break;
            case 1:
                slow_path.neighbour_resolved(environment.asked.first, environment.asked.second, now);
                break;
            case 2:
                slow_path.neighbour_failed(environment.asked.first, environment.asked.second, now);
                break;
            case 3:
                slow_path.interface_gone(step >> 4);
                break;
            case 4:
                image.overwrite(input.bytes(64));
                break;
            case 5:
            case 6:
            case 7: {
                const auto route = input.bytes(5);
                if (route.size() == 5)
                    image.route(static_cast<uint16_t>(route[0] << 8 | route[1]),
                                adjacency(route[2], route[3], route[4]));
                break;
            }
            default: {
                const auto taken = input.bytes(input.byte() * (step & 0x80 ? 8U : 1U));
                std::vector<uint8_t> frame(taken.begin(), taken.end());
                if (step & 0x40) frame.resize(frame.size() + 1500, 0x5a);
                if (!(step & 0x20)) mend(frame);
                frame.shrink_to_fit();
                complete_checksum(frame);
                slow_path.handle(step % 4, PP_PUNT_NO_ROUTE, frame, now);
            }
        }
    }
    // Nothing waits for ever: what gives up now may send an error that waits in its turn, for which none is
    // sent.
    environment.answers = 0;
    slow_path.tick(now + std::chrono::seconds(4));
    slow_path.tick(now + std::chrono::seconds(8));
    uint64_t waited = 0, ended = 0;
    for (const auto& [name, value] : slow_path.counters()) {
        if (name == "neighbour_queued") waited += value;
        if (name == "neighbour_released" || name == "neighbour_failed" || name == "neighbour_expired" ||
            name == "neighbour_not_asked" || name == "neighbour_queue_full" ||
            name == "neighbour_memory_full" || name == "neighbour_interface_gone")
            ended += value;
    }
    demand(waited == ended);
    return 0;
}
