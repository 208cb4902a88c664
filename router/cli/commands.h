// SPDX-License-Identifier: BSD-3-Clause
/// What the CLI's commands do, after their arguments have been understood. Each returns the exit status.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "fib/tables/reading.h"
#include "router/cli/client.h"
#include "router/cli/observe_options.h"
#include "router/cli/terminal.h"

namespace pktpit::router::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_wrong = 1;     ///< what was asked about is wrong or not there
inline constexpr int exit_unusable = 2;  ///< usage, or no daemon

/// What every command works with.
struct Session {
    const Client& client;
    const Terminal& terminal;
    bool json = false;
};

struct RouteFilter {
    std::optional<Family> family;
    std::string source;           ///< empty: all
    std::string within;           ///< empty: all
    std::optional<size_t> limit;  ///< absent: all
    std::string vrf{};            ///< whose routes; empty: the default VRF's
};

int show_version(const Session& session);
int show_ports(const Session& session);
int show_routes(const Session& session, const RouteFilter& filter);
int show_ignored_routes(const Session& session);
/// `follow`: until interrupted.
int show_events(const Session& session, bool follow);
int show_memory(const Session& session);
int show_routes_summary(const Session& session, const std::string& vrf = {});
int show_vrfs(const Session& session);
int show_filters(const Session& session);
/// What `nft -j list ruleset` has printed ("-": on the standard input) as /filters, to the standard output;
/// what is not in them, to the standard error. exit_wrong if there is any.
int import_filters(const Session& session, const std::string& path);
int show_next_hop_groups(const Session& session);
int show_route(const Session& session, const std::string& address, const std::string& vrf = {});
int show_neighbours(const Session& session);
int show_drift(const Session& session);
int show_aggregation(const Session& session);
int show_fpm(const Session& session);
int show_counters(const Session& session);
int show_latency(const Session& session);
int show_workers(const Session& session);
/// `entries`: what is installed, instead of how well it does.
int show_offload(const Session& session, bool entries);
int show_config(const Session& session);
/// What changed since the configuration that was applied so many ago.
int show_config_difference(const Session& session, size_t back);
/// Its text, as it stood in its file.
int show_saved_config(const Session& session, size_t back);
/// Those that can be gone back to.
int show_configs(const Session& session);
/// With rates over `interval`, and when their links changed last.
int show_interfaces(const Session& session, std::chrono::duration<double> interval);

/// `method`: POST, PUT or DELETE; `words` as typed behind `route add`.
int change_route(const Session& session, const std::string& method, const std::vector<std::string>& words,
                 Family default_family);

/// Routes of a file ("-": the standard input), one a line with the same words; all of them or none, in one
/// request.
int change_routes_of(const Session& session, const std::string& method, const std::string& path,
                     Family default_family);

int lookup(const Session& session, const std::vector<std::string>& addresses, const std::string& vrf = {});
/// From the standard input if `addresses` is empty. Needs no daemon, as all commands about tables.
int lookup_in_table(const Session& session, const std::string& table_path, const fib::ReadOptions& reading,
                    const std::vector<std::string>& addresses);

struct ConvertOptions {
    std::string path;
    fib::ReadOptions reading;
    std::string form;      ///< text, json or mrt; empty: json with --json, else text
    bool updates = false;  ///< of updates, not of a table
    bool sorted = false;   ///< ascending, each prefix once
};
/// To the standard output.
int convert_table(const Session& session, const ConvertOptions& options);

/// `check`: every prefix's borders are looked up and compared with a naive table.
struct StatsOptions {
    fib::ReadOptions reading;
    bool check = false;
    std::string cpu = "auto";  ///< the variant of the batch lookups: fib/reader.h
};
int table_stats(const Session& session, const std::string& path, const StatsOptions& options);

struct ReplayOptions {
    std::string updates;  ///< path
    std::string table;    ///< path; empty: the updates start from nothing
    fib::ReadOptions reading;
    bool check = false;  ///< compares the end with a naive table
};
int replay_updates(const Session& session, const ReplayOptions& options);

/// A route file like the Internet's, to the standard output. `count` 0: as many prefixes as the Internet has.
int generate_table(const Session& session, Family family, size_t count, uint64_t seed);

/// `count`: how many times, absent: until interrupted.
int watch_counters(const Session& session, std::chrono::duration<double> interval,
                   std::optional<unsigned> count);

struct DoctorOptions {
    std::string config;                 ///< path; empty: the whole machine
    std::vector<std::string> nics;      ///< PCI addresses instead
    std::vector<std::string> memories;  ///< PCI addresses instead
    std::string tree;                   ///< path of a recording to explain; empty: this machine
    std::string record;                 ///< path to write a recording to; empty: none
};
/// Is P2P direct, what stands in its way? Exit status: 0 direct, 1 hindered, 2 impossible, or failure.
int doctor(const Session& session, const DoctorOptions& options);

/// Until they have what was asked for, the daemon ends or Ctrl-C is pressed, which is no failure.
int trace(const Session& session, const ObserveOptions& options);
int capture(const Session& session, const ObserveOptions& options);

/// Ends the data path that a daemon which is gone has left; asks where packets still flow, unless `yes`.
int detach(const Session& session, const std::string& instance, bool yes);

int check(const Session& session, const std::string& path, bool interfaces_must_exist);
/// `confirm_s`: it goes back by itself unless it is confirmed within so many seconds.
int reload(const Session& session, const std::optional<std::string>& path, bool dry_run,
           std::optional<uint32_t> confirm_s = {});
int confirm(const Session& session);
/// To the configuration that was applied so many ago.
int rollback(const Session& session, size_t back, bool dry_run, std::optional<uint32_t> confirm_s);
int demo(const Session& session);

/// GET; on success the body. On failure prints why and returns the exit status.
tl::expected<nlohmann::json, int> fetch(const Session& session, const std::string& path,
                                        const Parameters& parameters = {});
/// Prints a refusal's errors (as JSON where asked for). Returns the exit status.
int print_refusal(const Session& session, const Reply& reply);
int print_failure(const Session& session, const Error& error, int status);
void print_json(const Session& session, const nlohmann::json& value);

/// What stands above figures of simulated hardware; empty where nothing is simulated.
std::string modelled_line(const nlohmann::json& body);

}  // namespace pktpit::router::cli
