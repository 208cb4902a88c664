// SPDX-License-Identifier: BSD-3-Clause
#include "router/check/check_tables.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>

#include "base/huge_memory.h"
#include "base/quoted.h"
#include "fib/image.h"
#include "fib/tables/file_source.h"
#include "fib/tables/table_file.h"

namespace pktpit::router::check {
namespace {

constexpr size_t max_errors_per_file = 20;
/// A route file has no longer line; what has is something else.
constexpr size_t longest_line = 4096;

/// The number behind the last colon.
size_t line_in(const std::string& where) {
    size_t line = 0;
    size_t colon = where.rfind(':');
    if (colon != where.npos) std::from_chars(where.data() + colon + 1, where.data() + where.size(), line);
    return line;
}

/// Reads one file. read_table_text() stops at the first bad line: reading goes on behind it, so that one
/// error does not hide the others.
class TableReader {
  public:
    TableReader(const config::RoutesFile& file, std::string path, std::vector<Prefix>& prefixes)
        : file_(file), prefixes_(prefixes), first_prefix_(prefixes.size()) {
        summary_.path = std::move(path);
    }

    void read() {
        auto source = fib::FileSource::open_regular(summary_.path);
        if (!source) return add(source.error());
        std::string text;
        for (;;) {
            auto piece = source->next();
            if (!piece) return add(piece.error());
            if (piece->empty()) break;
            text.append(piece->data(), piece->size());
            size_t end = text.rfind('\n');
            if (end == text.npos && text.size() > longest_line)
                return add({place(lines_before_ + 1), "a line of more than 4096 characters",
                            "`prefix next-hop-id`", "is this a route file?"});
            if (end == text.npos) continue;
            read_lines(std::string_view(text).substr(0, end + 1));
            text.erase(0, end + 1);
        }
        read_lines(text);
    }

    void finish(TableCheck& out) {
        explain_ids();
        summary_.ids = ids_.size();
        auto mine = prefixes_.begin() + static_cast<std::ptrdiff_t>(first_prefix_);
        std::sort(mine, prefixes_.end());
        auto end = std::unique(mine, prefixes_.end());
        summary_.repeated = static_cast<size_t>(prefixes_.end() - end);
        prefixes_.erase(end, prefixes_.end());

        std::ranges::stable_sort(errors_, {}, [](const Error& error) { return line_in(error.where); });
        if (errors_.size() > max_errors_per_file) errors_.resize(max_errors_per_file);
        if (count_ > errors_.size())
            errors_.push_back(
                {summary_.path, "and " + std::to_string(count_ - errors_.size()) + " more errors", "", ""});
        for (Error& error : errors_)
            out.in_files.push_back(std::move(error));
        out.tables.push_back(std::move(summary_));
    }

  private:
    enum class Fault { none, unknown, ipv4 };  ///< ipv4: has IPv4 gateways, stands behind an IPv6 prefix
    struct Use {
        bool known = false;
        bool ipv4 = false;  ///< some of its gateways are, so that it is for IPv4 prefixes alone
        Fault fault = Fault::none;
        size_t first_line = 0, lines = 0;  ///< with the fault
    };

    void read_lines(std::string_view text) {
        while (!text.empty()) {
            size_t before = lines_before_;
            auto done = fib::read_table_text(text, summary_.path,
                                             [&](const Prefix& prefix, std::string_view id, size_t line) {
                                                 visit(prefix, id, before + line);
                                                 return Result<void>{};
                                             });
            if (done) break;
            size_t bad = std::max<size_t>(1, line_in(done.error().where));
            Error error = done.error();
            error.where = place(before + bad);
            add(std::move(error));
            lines_before_ += bad;
            for (size_t i = 0; i < bad; i++)
                text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
        }
        lines_before_ += static_cast<size_t>(std::ranges::count(text, '\n'));
    }

    void visit(const Prefix& prefix, std::string_view id, size_t line) {
        (prefix.address.is_v4() ? summary_.ipv4_routes : summary_.ipv6_routes)++;
        prefixes_.push_back(prefix);
        Use& use = use_of(id);
        if (use.known && (!use.ipv4 || prefix.address.is_v4())) return;
        if (use.fault == Fault::none) {
            use.fault = use.known ? Fault::ipv4 : Fault::unknown;
            use.first_line = line;
        }
        use.lines++;
    }

    Use& use_of(std::string_view id) {
        if (last_use_ && id == last_id_) return *last_use_;  // tables are runs of one id
        auto [found, is_new] = ids_.try_emplace(std::string(id));
        if (is_new) {
            found->second.known = note(found->first, file_.next_hops, found->second.ipv4);
            (void)note(found->first, file_.backup, found->second.ipv4);
        }
        last_id_ = found->first;
        last_use_ = &found->second;
        return found->second;
    }

    /// False: the id has none there.
    static bool note(const std::string& id, const std::map<std::string, std::vector<config::NextHop>>& all,
                     bool& ipv4) {
        auto hops = all.find(id);
        if (hops == all.end()) hops = all.find("*");
        if (hops == all.end()) return false;
        ipv4 |=
            std::ranges::any_of(hops->second, [](const auto& hop) { return hop.via && hop.via->is_v4(); });
        return true;
    }

    /// The ids at fault, by the line that each is on first; only as many as are told are put into words.
    void explain_ids() {
        std::vector<std::pair<size_t, const std::pair<const std::string, Use>*>> faulty;
        for (const auto& entry : ids_)
            if (entry.second.fault != Fault::none) faulty.emplace_back(entry.second.first_line, &entry);
        std::ranges::sort(faulty);
        count_ += faulty.size();
        faulty.resize(std::min(faulty.size(), max_errors_per_file));
        for (const auto& [line, entry] : faulty)
            errors_.push_back(explain(entry->first, entry->second));
    }

    Error explain(const std::string& id, const Use& use) const {
        std::string count = use.lines == 1 ? "" : " (" + std::to_string(use.lines) + " lines)";
        if (use.fault == Fault::unknown)
            return {place(use.first_line), "next-hop id " + pktpit::quoted(id) + " has no next hops" + count,
                    "an id of \"next_hops\" in the configuration", "\"*\" there stands for all other ids"};
        return {place(use.first_line),
                "next-hop id " + pktpit::quoted(id) + " has IPv4 gateways, but the prefix is IPv6" + count,
                "next hops of the prefix's address family", "IPv4 and IPv6 in files of their own"};
    }

    void add(Error error) {
        count_++;
        if (errors_.size() < max_errors_per_file) errors_.push_back(std::move(error));
    }

    [[nodiscard]] std::string place(size_t line) const { return summary_.path + ":" + std::to_string(line); }

    const config::RoutesFile& file_;
    std::vector<Prefix>& prefixes_;
    size_t first_prefix_;
    TableSummary summary_;
    config::Errors errors_;
    size_t count_ = 0;
    size_t lines_before_ = 0;
    std::unordered_map<std::string, Use> ids_;
    std::string_view last_id_;
    Use* last_use_ = nullptr;
};

/// Builds the table in memory of so many MiB, as the daemon would. Ids are as wide as so many different sets
/// of next hops may need.
bool fits(const std::vector<Prefix>& prefixes, size_t next_hop_sets, uint32_t mib) {
    fib::Capacity capacity{.ports = 1,
                           .vlans = 1,
                           .groups = static_cast<uint32_t>(next_hop_sets + 2),
                           .buckets = 1,
                           .adjacencies = 1};
    fib::set_table_memory(capacity, mib);
    const auto geometry = fib::plan_geometry(capacity);
    const auto memory = HugeMemory::map(geometry.image_bytes);
    if (!memory) return false;
    fib::FibImage image(memory->bytes(), geometry, [] {});
    fib::GroupId group = 0;
    for (size_t i = 0; i < std::max<size_t>(next_hop_sets, 1); i++)
        group = image.add_group({}).value_or(group);
    return std::all_of(prefixes.begin(), prefixes.end(),
                       [&](const Prefix& prefix) { return image.set(prefix, group).has_value(); });
}

void check_capacity(const std::vector<Prefix>& prefixes, size_t next_hop_sets, uint32_t configured,
                    config::Errors& errors) {
    // A prefix takes less than 4 KiB even if it is alone.
    if (prefixes.size() * 4096 < (uint64_t{configured} << 20) / 2) return;
    uint32_t mib = std::bit_ceil(configured);
    if (fits(prefixes, next_hop_sets, mib)) return;
    const uint32_t most = 256;
    do
        mib *= 2;
    while (mib < most && !fits(prefixes, next_hop_sets, mib));
    errors.push_back({"/fib/table_memory_mib",
                      "the " + std::to_string(prefixes.size()) + " routes do not fit into " +
                          std::to_string(std::bit_ceil(configured)) + " MiB of table memory",
                      mib <= most ? "at least " + std::to_string(mib) : "fewer routes", ""});
}

}  // namespace

TableCheck check_tables(const config::Config& config) {
    TableCheck out;
    std::vector<Prefix> prefixes;
    for (const config::RoutesFile& file : config.routes_files) {
        TableReader reader(file, path_of(file, config), prefixes);
        reader.read();
        reader.finish(out);
    }
    for (const config::StaticRoute& route : config.routes)
        prefixes.push_back(route.prefix);
    std::sort(prefixes.begin(), prefixes.end());
    size_t next_hop_sets = config.routes.size();
    for (const config::RoutesFile& file : config.routes_files)
        next_hop_sets += file.next_hops.size();
    check_capacity(prefixes, next_hop_sets, config.fib.table_memory_mib, out.in_configuration);
    return out;
}

}  // namespace pktpit::router::check
