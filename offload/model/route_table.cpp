// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/route_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <unordered_map>

#include "fib/tables/table_generator.h"
#include "fib/tables/table_reader.h"

namespace pktpit::model {
namespace {

constexpr size_t destination_offset = 30;
constexpr size_t least_ipv4 = 34;
constexpr uint64_t generator_seed = 2544;
constexpr uint32_t most_node_bytes = 256U << 20;
constexpr unsigned shortest_block = 8;

uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

/// Not <random>'s distributions: their results differ between standard libraries.
double share_of(uint64_t random) {
    return static_cast<double>(random >> 11) * 0x1p-53;
}

/// In host byte order; nothing where the frame is not IPv4.
std::optional<uint32_t> destination_of(const std::byte* frame, uint32_t length) {
    if (length < least_ipv4 || frame[12] != std::byte{8} || frame[13] != std::byte{0} ||
        frame[14] >> 4 != std::byte{4})
        return std::nullopt;
    uint32_t address = 0;
    for (size_t i = 0; i < 4; i++)
        address = address << 8 | static_cast<uint32_t>(frame[destination_offset + i]);
    return address;
}

fib::Capacity capacity_for(size_t groups, uint32_t node_bytes) {
    fib::Capacity capacity;
    capacity.ports = 1;
    capacity.vlans = 1;
    capacity.buckets = 1;
    capacity.adjacencies = 1;
    capacity.tables = 1;
    capacity.groups = static_cast<uint32_t>(groups + 1);
    capacity.node_bytes = node_bytes;
    if (node_bytes < (4U << 20)) capacity.roots = 0;
    return capacity;
}

/// Groups 1 to `count`, whose ids are next hops' numbers.
Result<void> add_groups(fib::FibImage& image, size_t count) {
    for (uint32_t id = 1; id <= count; id++) {
        const auto group = image.add_group({});
        if (!group) return tl::unexpected(group.error());
        if (*group != id) return fail("groups", "are not numbered from 1");
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const RouteTable>> RouteTable::open(const std::string& path, size_t most) {
    std::vector<Route> routes;
    std::unordered_map<std::string, uint32_t> ids;
    const auto read =
        fib::read_table(path, {}, [&](const Prefix& prefix, std::string_view id, size_t) -> Result<void> {
            if (prefix.address.family != Family::ipv4) return {};
            const auto next = static_cast<uint32_t>(ids.size() + 1);
            routes.push_back({prefix, ids.try_emplace(std::string(id), next).first->second});
            return {};
        });
    if (!read) return tl::unexpected(read.error());
    if (routes.empty()) return fail(path, "has no IPv4 routes", "at least one");
    return make(std::move(routes), most, path.substr(path.find_last_of('/') + 1));
}

Result<std::shared_ptr<const RouteTable>> RouteTable::generate(size_t most) {
    std::vector<Route> routes;
    if (most == 0) most = fib::internet_table_size(Family::ipv4);
    for (const auto& entry : fib::generate_table(Family::ipv4, most, generator_seed))
        routes.push_back({entry.prefix, entry.next_hop});
    return make(std::move(routes), 0, "generated, with the Internet's prefix lengths");
}

Result<std::shared_ptr<const RouteTable>> RouteTable::make(std::vector<Route> routes, size_t most,
                                                           std::string origin) {
    if (most > 0 && most < routes.size()) {
        const std::vector<Route> all = std::move(routes);
        routes.clear();
        for (size_t i = 0; i < most; i++)
            routes.push_back(all[i * all.size() / most]);
    }
    auto table = std::make_shared<RouteTable>();
    table->origin_ = std::move(origin);
    for (const Route& route : routes) {
        table->prefixes_.push_back(route.prefix);
        table->next_hops_ = std::max<size_t>(table->next_hops_, route.next_hop);
    }
    for (uint32_t node_bytes = fib::Capacity{}.node_bytes;; node_bytes *= 2) {
        const auto geometry = fib::plan_geometry(capacity_for(table->next_hops_, node_bytes));
        auto memory = HugeMemory::map(geometry.image_bytes);
        if (!memory) return tl::unexpected(memory.error());
        table->image_.reset();
        table->memory_ = std::move(*memory);
        // Nobody reads while this writes.
        table->image_.emplace(table->memory_.bytes(), geometry, [] {});
        Result<void> good = add_groups(*table->image_, table->next_hops_);
        for (size_t i = 0; good && i < routes.size(); i++)
            good = table->image_->set(routes[i].prefix, routes[i].next_hop);
        if (good) break;
        if (node_bytes >= most_node_bytes) return tl::unexpected(good.error());
    }
    table->reader_.emplace(table->memory_.bytes());
    return table;
}

uint32_t RouteTable::next_hop(uint32_t address) const {
    return reader_->lookup(address);
}

Destinations::Destinations(const RouteTable& table, size_t count, double zipf, uint64_t seed)
    : shares_(count), aliases_(count) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < count; i++) {
        const Prefix& prefix = table.prefixes()[random() % table.prefixes().size()];
        const uint32_t host =
            prefix.length == 32 ? 0 : static_cast<uint32_t>(random()) & (~0U >> prefix.length);
        addresses_.push_back(prefix.address.v4_host_order() | host);
        next_hops_.push_back(table.next_hop(addresses_.back()));
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += shares_[i] = std::pow(static_cast<double>(i + 1), -zipf);
    std::vector<uint32_t> small, large;
    for (uint32_t i = 0; i < count; i++) {
        shares_[i] *= static_cast<double>(count) / sum;
        aliases_[i] = i;
        (shares_[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
        const uint32_t less = small.back(), more = large.back();
        small.pop_back();
        aliases_[less] = more;
        shares_[more] -= 1 - shares_[less];
        if (shares_[more] < 1) {
            large.pop_back();
            small.push_back(more);
        }
    }
}

uint32_t Destinations::index(uint64_t stream, uint64_t number) const {
    const uint64_t first = mix(number * 0x9e3779b97f4a7c15ull + stream + 1);
    const auto place = static_cast<uint32_t>(static_cast<unsigned __int128>(first) * addresses_.size() >> 64);
    return share_of(mix(first)) < shares_[place] ? place : aliases_[place];
}

Egress egress_of(uint32_t next_hop, const EgressPorts& ports) {
    if (next_hop == 0 || ports.empty()) return {};
    const auto& [nic, port] = ports[(next_hop - 1) % ports.size()];
    return {true, nic, port};
}

Egress TableDecider::decide(unsigned, unsigned, std::byte* frame, uint32_t length) {
    const auto address = destination_of(frame, length);
    return address ? egress_of(table_.next_hop(*address), ports_) : Egress{};
}

uint64_t NicFib::bytes_for(uint64_t table_bytes, size_t ports) {
    return fib::plan_geometry(capacity_for(ports, static_cast<uint32_t>(table_bytes))).image_bytes;
}

NicFib::NicFib(std::span<std::byte> memory, uint64_t table_bytes, const RouteTable& table,
               const Destinations& destinations, EgressPorts ports)
    : ports_(std::move(ports)) {
    const auto geometry = fib::plan_geometry(capacity_for(ports_.size(), static_cast<uint32_t>(table_bytes)));
    image_.emplace(memory.first(geometry.image_bytes), geometry, [] {});
    full_ = !add_groups(*image_, ports_.size());
    for (const uint32_t address : destinations.addresses()) {
        const uint32_t next_hop = table.next_hop(address);
        const IpAddress ip = IpAddress::v4(address);
        if (next_hop == 0 || full_ || image_->lookup(ip) != 0) continue;
        const auto group = static_cast<fib::GroupId>(1 + (next_hop - 1) % ports_.size());
        full_ = !image_->set(table.image().uniform_block(ip, shortest_block), group);
        blocks_ += !full_;
    }
    reader_.emplace(memory.first(geometry.image_bytes));
}

Egress NicFib::decide(unsigned, unsigned, std::byte* frame, uint32_t length) {
    const auto address = destination_of(frame, length);
    return address ? egress_of(reader_->lookup(*address), ports_) : Egress{};
}

}  // namespace pktpit::model
