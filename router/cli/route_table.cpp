#include "router/cli/route_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fib/image.h"
#include "fib/table_file.h"

namespace pktpit::router::cli {
namespace {

/// Anonymous memory: the kernel gives only the pages that the table comes to use.
class Memory {
  public:
    explicit Memory(size_t size)
        : size_(size),
          base_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                       0)) {}
    ~Memory() {
        if (valid()) ::munmap(base_, size_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    [[nodiscard]] bool valid() const { return base_ != MAP_FAILED; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(base_), size_}; }

  private:
    size_t size_;
    void* base_;
};

struct Line {
    Prefix prefix;
    uint32_t id = 0;  // index into State::ids
};

/// Blocks of the image's largest tables: 2^22 of 1 KiB are 4 GiB, as far as its 32-bit offsets reach.
constexpr uint32_t most_blocks = 1U << 21;

struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

struct RouteTable::State {
    std::vector<std::string> ids;
    std::vector<uint32_t> id_of_group;  // by group id; group 0 is "no route"
    std::unique_ptr<Memory> memory;
    std::optional<fib::FibImage> image;

    /// Builds the image; an Error where `capacity` is too small, or memory is out.
    Result<void> build(const std::vector<Line>& lines, const fib::Capacity& capacity) {
        image.reset();
        const auto geometry = fib::plan_geometry(capacity);
        memory = std::make_unique<Memory>(geometry.image_bytes);
        if (!memory->valid()) {
            return fail("", "no memory for " + std::to_string(geometry.image_bytes >> 20) +
                                " MiB of table: " + std::strerror(errno));
        }
        // Nobody reads while this writes.
        image.emplace(memory->bytes(), geometry, [] {});
        std::vector<fib::GroupId> group_of_id;
        id_of_group.clear();
        for (uint32_t id = 0; id < ids.size(); id++) {
            const auto group = image->add_group({});
            if (!group) return tl::unexpected(group.error());
            group_of_id.push_back(*group);
            if (id_of_group.size() <= *group) id_of_group.resize(*group + 1, 0);
            id_of_group[*group] = id;
        }
        for (const Line& line : lines) {
            if (auto good = image->set(line.prefix, group_of_id[line.id]); !good) return good;
        }
        return {};
    }
};

RouteTable::RouteTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
RouteTable::RouteTable(RouteTable&&) noexcept = default;
RouteTable& RouteTable::operator=(RouteTable&&) noexcept = default;
RouteTable::~RouteTable() = default;

Result<RouteTable> RouteTable::load(const std::string& path) {
    auto state = std::make_unique<State>();
    std::vector<Line> lines;
    std::unordered_map<std::string, uint32_t, StringHash, std::equal_to<>> known;
    const auto read =
        fib::read_table_file(path, [&](const Prefix& prefix, std::string_view id, size_t) -> Result<void> {
            auto found = known.find(id);
            if (found == known.end()) {
                found = known.emplace(std::string(id), static_cast<uint32_t>(state->ids.size())).first;
                state->ids.emplace_back(id);
            }
            lines.push_back({prefix, found->second});
            return {};
        });
    if (!read) return tl::unexpected(read.error());

    fib::Capacity capacity;
    capacity.ports = 1;
    capacity.vlans = 1;
    capacity.buckets = 1;
    capacity.adjacencies = 1;
    capacity.groups = static_cast<uint32_t>(state->ids.size() + 2);
    // The defaults hold the Internet's table; what does not fit gets twice as much until it does.
    for (;;) {
        const auto built = state->build(lines, capacity);
        if (built) return RouteTable(std::move(state));
        if (capacity.blocks4 >= most_blocks || !state->memory->valid()) {
            return fail(path, "the table does not fit: " + built.error().message);
        }
        capacity.blocks4 *= 2;
        capacity.blocks6 = std::min(capacity.blocks6 * 2, most_blocks);
    }
}

std::optional<std::pair<Prefix, std::string_view>> RouteTable::lookup(const IpAddress& address) const {
    const auto match = state_->image->match(address);
    if (!match) return std::nullopt;
    return std::pair{match->first, std::string_view(state_->ids[state_->id_of_group[match->second]])};
}

size_t RouteTable::size(Family family) const {
    return state_->image->prefix_count(family);
}

}  // namespace pktpit::router::cli
