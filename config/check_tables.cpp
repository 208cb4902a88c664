#include "config/check_tables.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>

#include "config/pointer.h"
#include "fib/file_source.h"
#include "fib/table_file.h"

namespace pktpit::config {
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
    TableReader(const RoutesFile& file, std::string path, std::vector<Prefix>& prefixes)
        : file_(file), prefixes_(prefixes), first_prefix_(prefixes.size()) {
        summary_.path = std::move(path);
    }

    void read() {
        auto source = fib::FileSource::open(summary_.path);
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
    enum class Fault {
        none,
        unknown,
        ipv4,
        ipv6
    };  ///< ipv4: has IPv4 gateways, stands behind an IPv6 prefix
    struct Use {
        bool known = false;
        std::optional<Family> family;  ///< of its gateways, if it has any
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
        bool fits = use.known && (!use.family || *use.family == prefix.address.family);
        if (fits) return;
        if (use.fault == Fault::none) {
            use.fault = !use.known ? Fault::unknown : *use.family == Family::ipv4 ? Fault::ipv4 : Fault::ipv6;
            use.first_line = line;
        }
        use.lines++;
    }

    Use& use_of(std::string_view id) {
        if (last_use_ && id == last_id_) return *last_use_;  // tables are runs of one id
        auto [found, is_new] = ids_.try_emplace(std::string(id));
        if (is_new) {
            auto hops = file_.next_hops.find(found->first);
            if (hops == file_.next_hops.end()) hops = file_.next_hops.find("*");
            found->second.known = hops != file_.next_hops.end();
            if (found->second.known)
                for (const NextHop& hop : hops->second)
                    if (hop.via) found->second.family = hop.via->family;
        }
        last_id_ = found->first;
        last_use_ = &found->second;
        return found->second;
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
            return {place(use.first_line), "next-hop id " + in_quotes(id) + " has no next hops" + count,
                    "an id of \"next_hops\" in the configuration", "\"*\" there stands for all other ids"};
        bool ipv4 = use.fault == Fault::ipv4;
        return {place(use.first_line),
                "next-hop id " + in_quotes(id) + " has " + (ipv4 ? "IPv4" : "IPv6") +
                    " gateways, but the prefix is " + (ipv4 ? "IPv6" : "IPv4") + count,
                "next hops of the prefix's address family", "IPv4 and IPv6 in files of their own"};
    }

    void add(Error error) {
        count_++;
        if (errors_.size() < max_errors_per_file) errors_.push_back(std::move(error));
    }

    [[nodiscard]] std::string place(size_t line) const { return summary_.path + ":" + std::to_string(line); }

    const RoutesFile& file_;
    std::vector<Prefix>& prefixes_;
    size_t first_prefix_;
    TableSummary summary_;
    Errors errors_;
    size_t count_ = 0;
    size_t lines_before_ = 0;
    std::unordered_map<std::string, Use> ids_;
    std::string_view last_id_;
    Use* last_use_ = nullptr;
};

/// Blocks of 256 entries that these prefixes need (fib/layout.h): below the root's 16 bits, one for each
/// different start of 16, 24, … bits that a longer prefix has. `prefixes` are sorted.
size_t blocks_needed(const std::vector<Prefix>& prefixes, Family family) {
    size_t blocks = 0;
    unsigned bits = family == Family::ipv4 ? 32 : 128;
    std::vector<IpAddress> last(bits + 1);
    std::vector<bool> any(bits + 1);
    for (const Prefix& prefix : prefixes) {
        if (prefix.address.family != family) continue;
        for (unsigned depth = 16; depth < prefix.length; depth += 8) {
            IpAddress start = Prefix::of(prefix.address, depth).address;
            if (any[depth] && last[depth] == start) continue;
            last[depth] = start;
            any[depth] = true;
            blocks++;
        }
    }
    return blocks;
}

void check_capacity(const std::vector<Prefix>& prefixes, Family family, uint32_t configured, Errors& errors) {
    size_t needed = blocks_needed(prefixes, family);
    if (needed <= std::bit_ceil(configured)) return;
    bool ipv4 = family == Family::ipv4;
    errors.push_back({ipv4 ? "/fib/ipv4_blocks" : "/fib/ipv6_blocks",
                      "the routes need " + std::to_string(needed) + " blocks, the FIB has " +
                          std::to_string(std::bit_ceil(configured)),
                      "at least " + std::to_string(std::bit_ceil(needed)), ""});
}

}  // namespace

TableCheck check_tables(const Config& config) {
    TableCheck out;
    std::vector<Prefix> prefixes;
    for (const RoutesFile& file : config.routes_files) {
        TableReader reader(file, path_of(file, config), prefixes);
        reader.read();
        reader.finish(out);
    }
    for (const StaticRoute& route : config.routes)
        prefixes.push_back(route.prefix);
    std::sort(prefixes.begin(), prefixes.end());
    check_capacity(prefixes, Family::ipv4, config.fib.ipv4_blocks, out.in_configuration);
    check_capacity(prefixes, Family::ipv6, config.fib.ipv6_blocks, out.in_configuration);
    return out;
}

}  // namespace pktpit::config
