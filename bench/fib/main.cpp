// SPDX-License-Identifier: BSD-3-Clause
// bench_fib: Pktpit's FIB against DPDK's longest-prefix matches, as ratios in the same run. Ends with 1 if
// anything answers wrong; a missed target is told and is no failure.

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "bench/fib/churn.h"
#include "bench/fib/load.h"
#include "bench/fib/lookups.h"
#include "bench/fib/options.h"
#include "bench/fib/priority.h"
#include "bench/fib/report.h"
#include "bench/fib/runner.h"
#include "bench/fib/table_set.h"
#include "bench/harness/hugepages.h"
#include "bench/harness/machine.h"
#include "bench/harness/run_program.h"
#ifdef PKTPIT_HAVE_DPDK
#include "bench/fib/dpdk/eal.h"
#include "bench/fib/dpdk/peers.h"
#endif

namespace pktpit::bench::fib {
namespace {

struct Peers {
    std::vector<PeerKind<Address4>> of4;
    std::vector<PeerKind<Address6>> of6;
};

std::vector<Table> make_tables(const Options& options) {
    std::vector<Table> tables;
    for (const Family family : options.families) {
        if (options.table_set) {
            for (const TableVariant& variant : table_set(family))
                tables.push_back(make_variant(variant, family, options.routes, options.data));
            continue;
        }
        Table table{family, {}, 0, ""};
        for (const std::string& file : options.tables)
            if (table.routes.empty()) table = read_table(family, file);
        if (table.routes.empty() && !options.tables.empty()) continue;
        if (table.routes.empty())
            table = options.routes > 0 ? generate_internet(family, options.routes)
                                       : read_or_generate_table(family, options.data);
        if (options.next_hops > 0) spread_next_hops(table, options.next_hops);
        tables.push_back(std::move(table));
    }
    return tables;
}

std::string title(const Table& table, const std::string& what) {
    const std::string name = table.name.empty() ? fmt::format("{} next hops", table.groups) : table.name;
    return fmt::format("{}, {} routes, {}: {}", name_of(table.family), table.routes.size(), name, what);
}

void compare_all_lookups(const Options& options, const Table& table, const Peers& peers, Report& report) {
    LookupResult result;
    if (table.family == Family::ipv4)
        result = compare_lookups<Address4>(options, table, peers.of4);
    else
        result = compare_lookups<Address6>(options, table, peers.of6);
    for (Panel& panel : result.panels) {
        panel.title = title(table, fmt::format("{} lookups in batches of {}, {}", options.addresses,
                                               batch_size, panel.title));
        print_lookups(stdout, panel);
        report.lookups.push_back(std::move(panel));
    }
    print_sizes(stdout, table, result.sizes);
    report.sizes.emplace_back(table.family, std::move(result.sizes));
}

void compare_all_churn(const Options& options, const Table& table, const Peers& peers, Report& report) {
    Panel panel = table.family == Family::ipv4 ? compare_churn<Address4>(options, table, peers.of4)
                                               : compare_churn<Address6>(options, table, peers.of6);
    panel.title = title(table, "updates, Pktpit beside a live reader, its peer without");
    print_churn(stdout, panel);
    report.churn.push_back(std::move(panel));
}

void measure(const Options& options, const std::vector<Table>& tables, const Peers& peers, Report& report) {
    pin_to(options.cpu);
    for (const Table& table : tables)
        if (options.wants("lookup")) compare_all_lookups(options, table, peers, report);
    if (options.table_set) print_worst(stdout, report.lookups);
    for (const Table& table : tables)
        if (options.wants("churn")) compare_all_churn(options, table, peers, report);
    if (options.wants("load")) {
        report.load.push_back(compare_load(options, tables, peers.of4, peers.of6));
        print_load(stdout, report.load.back());
    }
    if (!options.json.empty()) write_json(options.json, report);
    if (!options.results.empty()) write_results(options.results, report, tables);
}

#ifdef PKTPIT_HAVE_DPDK

int run_with_dpdk(const Options& options, const std::vector<Table>& tables, Report& report) {
    size_t memory = 0;
    for (const Table& table : tables)
        memory = std::max(memory, dpdk_memory(table));
    std::optional<harness::HugepageReservation> reservation;
    if (options.hugepages) reservation.emplace(memory);
    const bool huge = reservation && reservation->enough();
    const Eal eal({options.cpu, memory, huge});
    report.head.emplace_back("DPDK", Eal::version());
    report.head.emplace_back(
        "huge pages",
        huge ? fmt::format("DPDK's memory in 2 MiB pages, {} reserved for it", reservation->added())
             : "none for DPDK, which is slower without");
    print_head(stdout, report);
    measure(options, tables, {dpdk_kinds4(), dpdk_kinds6()}, report);
    return 0;
}

#endif

int run(const Options& options) {
    Report report;
    report.table_set = options.table_set;
    report.head = harness::describe_machine();
    report.head.emplace_back("command", options.command);
    initialize_google_benchmark(options);
    const std::vector<Table> tables = make_tables(options);
    for (const Table& table : tables)
        report.head.emplace_back(fmt::format("{} table", name_of(table.family)), table.origin);
#ifdef PKTPIT_HAVE_DPDK
    return run_with_dpdk(options, tables, report);
#else
    report.head.emplace_back("DPDK", "not built in (PKTPIT_DPDK): no peers");
    print_head(stdout, report);
    measure(options, tables, {}, report);
    return 0;
#endif
}

}  // namespace
}  // namespace pktpit::bench::fib

int main(int argc, char** argv) {
    using namespace pktpit::bench;
    return harness::run_program("bench_fib", fib::parse_options, fib::run, argc, argv);
}
