// SPDX-License-Identifier: BSD-3-Clause
#include "router/filter/compile.h"

#include <cstring>
#include <memory>
#include <span>

#include "fib/nodes.h"
#include "fib/prefix_table.h"
#include "router/filter/address_classes.h"
#include "router/filter/transport_classes.h"

namespace pktpit::router {
namespace {

constexpr size_t family_count = 2;
constexpr std::array families{Family::ipv4, Family::ipv6};

/// One family's rules of a filter, all but their nodes.
struct Parts {
    RuleList rules;
    std::vector<uint32_t> numbers;  ///< of each of them, in the filter
    AddressClasses source, destination;
    TransportClasses transport;
    PortClasses source_port, destination_port;

    template <class Value>
    static std::vector<std::optional<Value>> column(const RuleList& rules,
                                                    std::optional<Value> config::FilterRule::*member) {
        std::vector<std::optional<Value>> out;
        out.reserve(rules.size());
        for (const auto* rule : rules)
            out.push_back(rule->*member);
        return out;
    }
    Parts(RuleList list, std::vector<uint32_t> of, Family family)
        : rules(std::move(list)),
          numbers(std::move(of)),
          source(column(rules, &config::FilterRule::source)),
          destination(column(rules, &config::FilterRule::destination)),
          transport(rules, family),
          source_port(column(rules, &config::FilterRule::source_port)),
          destination_port(column(rules, &config::FilterRule::destination_port)) {}

    static std::unique_ptr<Parts> of(const config::Filter& filter, Family family) {
        RuleList list;
        std::vector<uint32_t> numbers;
        for (uint32_t i = 0; i < filter.size(); i++) {
            const auto only = filter[i].family();
            if (only && *only != family) continue;
            list.push_back(&filter[i]);
            numbers.push_back(i);
        }
        return list.empty() ? nullptr : std::make_unique<Parts>(std::move(list), std::move(numbers), family);
    }
    /// By pp_filter_field.
    [[nodiscard]] std::array<const Rows*, PP_FILTER_FIELDS> fields() const {
        return {&source.rows, &destination.rows, &transport.rows, &source_port.rows, &destination_port.rows};
    }
};

/// The data, growing.
class Data {
  public:
    template <class T>
    uint32_t append(std::span<const T> values, size_t alignment = 64) {
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
        const auto at = static_cast<uint32_t>(bytes_.size());
        const auto* from = reinterpret_cast<const std::byte*>(values.data());
        bytes_.insert(bytes_.end(), from, from + values.size_bytes());
        return at;
    }
    template <class T>
    void put(uint32_t at, const T& value) {
        std::memcpy(&bytes_[at], &value, sizeof value);
    }
    [[nodiscard]] size_t size() const { return bytes_.size(); }
    [[nodiscard]] std::vector<uint64_t> words() const {
        std::vector<uint64_t> out((bytes_.size() + 7) / 8);
        std::memcpy(out.data(), bytes_.data(), bytes_.size());
        return out;
    }

  private:
    std::vector<std::byte> bytes_;
};

uint32_t append_rows(Data& data, const Rows& rows, size_t words, size_t aggregates) {
    std::vector<uint64_t> out;
    out.reserve(rows.size() * (words + aggregates));
    for (size_t number = 0; number < rows.size(); number++) {
        const uint64_t* row = rows.row(number);
        std::vector<uint64_t> above(aggregates);
        for (size_t word = 0; word < words; word++)
            if (row[word] != 0 && aggregates != 0) above[word / 64] |= uint64_t{1} << word % 64;
        out.insert(out.end(), above.begin(), above.end());
        out.insert(out.end(), row, row + words);
    }
    return data.append(std::span<const uint64_t>(out));
}

uint32_t rule_word(config::FilterAction action, uint32_t counter) {
    const auto number = action == config::FilterAction::drop        ? PP_FILTER_DROP
                        : action == config::FilterAction::to_kernel ? PP_FILTER_TO_KERNEL
                                                                    : PP_FILTER_ACCEPT;
    return static_cast<uint32_t>(number) | counter << 8;
}

/// All but the entries of the addresses.
pp_filter_rules append_parts(Data& data, const Parts& parts, CompiledFilters::One& one) {
    pp_filter_rules out{};
    const size_t words = (parts.rules.size() + 63) / 64;
    const size_t aggregates = words > 1 ? (words + 63) / 64 : 0;
    out.words = static_cast<uint32_t>(words);
    out.aggregates = static_cast<uint32_t>(aggregates);
    out.row_bytes = static_cast<uint32_t>((words + aggregates) * 8);
    std::vector<uint32_t> rule_words;
    for (size_t i = 0; i < parts.rules.size(); i++)
        rule_words.push_back(rule_word(parts.rules[i]->action, parts.numbers[i]));
    out.rules = data.append(std::span<const uint32_t>(rule_words));
    for (size_t i = 0; i < rule_words.size(); i++)
        one.words.push_back(out.rules + static_cast<uint32_t>(i * 4));
    out.transport = data.append(std::span<const uint16_t>(parts.transport.of));
    const std::array ports{&parts.source_port, &parts.destination_port};
    for (size_t i = 0; i < ports.size(); i++)
        if (!ports[i]->pages.empty()) out.ports[i] = data.append(std::span<const uint16_t>(ports[i]->pages));
    const auto fields = parts.fields();
    for (size_t field = 0; field < fields.size(); field++)
        out.rows[field] = append_rows(data, *fields[field], words, aggregates);
    return out;
}

size_t bytes_of_rows(const Parts& parts) {
    const size_t words = (parts.rules.size() + 63) / 64;
    size_t rows = 0;
    for (const Rows* field : parts.fields())
        rows += field->size();
    return rows * (words > 1 ? words + (words + 63) / 64 : words) * 8;
}

/// Nodes of all addresses, and each entry by way of `put`; nothing: they need more than these bytes.
class AddressNodes {
  public:
    explicit AddressNodes(size_t bytes)
        : memory_(bytes / 8),
          nodes_(reinterpret_cast<std::byte*>(memory_.data()), static_cast<uint32_t>(bytes), 0, [] {}) {}

    std::optional<uint32_t> add(const AddressClasses& classes, Family family) {
        return family == Family::ipv4 ? add<fib::PrefixKey4>(classes) : add<fib::PrefixKey6>(classes);
    }
    std::vector<uint64_t> take() { return std::move(memory_); }

  private:
    template <class Key>
    std::optional<uint32_t> add(const AddressClasses& classes) {
        fib::Entry entry = 0;
        fib::PrefixTable<Key> table(nodes_, &entry, false);
        for (const auto& [prefix, number] : classes.prefixes)
            if (!table.set(Key::of(prefix), number)) return std::nullopt;
        return entry;
    }
    std::vector<uint64_t> memory_;
    fib::Nodes nodes_;
};

using FilterParts = std::array<std::unique_ptr<Parts>, family_count>;

struct Entries {
    uint32_t source = 0, destination = 0;
};

struct BuiltNodes {
    std::vector<uint64_t> nodes;
    std::vector<Entries> entries;  ///< of each filter's families
};

/// Tries with more and more memory: what a trie takes is not known before. Nothing: more than `most` bytes.
std::optional<BuiltNodes> build_nodes(const std::vector<FilterParts>& filters, size_t most) {
    for (size_t bytes = size_t{16} << 10; bytes <= most; bytes *= 2) {
        AddressNodes nodes(bytes);
        BuiltNodes built;
        bool whole = true;
        for (const FilterParts& parts : filters)
            for (size_t family = 0; whole && family < family_count; family++) {
                Entries& entries = built.entries.emplace_back();
                if (!parts[family]) continue;
                const auto source = nodes.add(parts[family]->source, families[family]);
                const auto destination =
                    source ? nodes.add(parts[family]->destination, families[family]) : std::nullopt;
                whole = destination.has_value();
                if (whole) entries = {*source, *destination};
            }
        if (!whole) continue;
        built.nodes = nodes.take();
        return built;
    }
    return std::nullopt;
}

Error too_large(size_t bytes, bool at_least) {
    const auto mib = [](size_t size) { return std::to_string((size + (1U << 20) - 1) >> 20) + " MiB"; };
    return {"/filters",
            "the tables of the filters that interfaces have need " +
                std::string(at_least ? "more than " : "") + mib(bytes),
            "at most " + mib(most_filter_bytes),
            "fewer rules in one filter: what a rule costs grows with their number"};
}

}  // namespace

std::set<std::string> filters_in_use(const config::Config& config) {
    std::set<std::string> names;
    for (const auto& [name, interface] : config.interfaces)
        for (const auto& filter : {interface.filter_in, interface.filter_out})
            if (!filter.empty()) names.insert(filter);
    return names;
}

Result<CompiledFilters> compile_filters(const config::Config& config) {
    CompiledFilters out;
    std::vector<FilterParts> all;
    size_t bytes = 0;
    for (const std::string& name : filters_in_use(config)) {
        const config::Filter& filter = config.filters.at(name);
        out.filters[name].rules = static_cast<uint32_t>(filter.size());
        FilterParts& parts = all.emplace_back();
        for (size_t family = 0; family < family_count; family++) {
            parts[family] = Parts::of(filter, families[family]);
            if (parts[family]) bytes += bytes_of_rows(*parts[family]);
        }
    }
    if (bytes > most_filter_bytes) return tl::unexpected(too_large(bytes, false));
    auto nodes = build_nodes(all, most_filter_bytes);
    if (!nodes) return tl::unexpected(too_large(most_filter_bytes, true));
    out.nodes = std::move(nodes->nodes);

    Data data;
    const pp_filter_head head{};
    data.append(std::span(&head, 1));
    size_t number = 0;
    for (auto& [name, one] : out.filters) {
        const pp_filter empty{};
        one.at = data.append(std::span(&empty, 1));
        pp_filter filter{};
        for (size_t family = 0; family < family_count; family++) {
            pp_filter_rules& rules = filter.family[family];
            if (const auto& parts = all[number][family]) rules = append_parts(data, *parts, one);
            const Entries& entries = nodes->entries[number * family_count + family];
            rules.source = entries.source;
            rules.destination = entries.destination;
            rules.unmatched = rule_word(config::FilterAction::accept, one.rules);
            one.words.push_back(one.at + static_cast<uint32_t>(family * sizeof(pp_filter_rules) +
                                                               offsetof(pp_filter_rules, unmatched)));
        }
        data.put(one.at, filter);
        number++;
    }
    out.data = data.words();
    return out;
}

}  // namespace pktpit::router
