// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/application.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <ostream>

#include "base/json/nearest.h"
#include "router/cli/commands.h"
#include "router/cli/commands_bench.h"
#include "router/cli/commands_model.h"

namespace pktpit::router::cli {
namespace {

struct Options {
    std::string socket;
    std::string instance;
    bool json = false;
    bool ipv4 = false;
    bool ipv6 = false;
    RouteFilter filter;
    std::string file;
    std::string table;
    fib::ReadOptions reading;
    std::string form;
    std::string cpu = "auto";
    bool updates = false;
    bool sorted = false;
    bool check = false;
    std::vector<std::string> words;
    bool entries = false;
    bool summary = false;
    bool ignored = false;
    bool follow = false;
    bool dry_run = false;
    std::optional<uint32_t> confirm_s;
    size_t back = 1;
    std::optional<size_t> difference;
    std::optional<size_t> saved;
    bool yes = false;
    bool any_interface = false;
    bool watch = false;
    double interval = 1;
    unsigned count = 0;
    uint64_t seed = 1;
    DoctorOptions doctor;
    ObserveOptions observe;
    ModelOptions model;
};

using Command = std::function<int(const Session&)>;

/// The arguments as CLI11 knows them, and what to run once they are understood.
class Application {
  public:
    Application() : app_("Asks and directs pktpitd, the Pktpit router.", "pktpit") {
        app_.require_subcommand(1);
        app_.fallthrough();
        app_.set_version_flag("--version", "pktpit " PKTPIT_VERSION);
        app_.add_option("--socket", options_.socket, "the daemon's API socket")
            ->type_name("PATH")
            ->envname("PKTPIT_SOCKET");
        app_.add_option("--instance", options_.instance,
                        "the daemon's instance: /run/pktpit/NAME.sock [default]")
            ->type_name("NAME");
        app_.add_flag("--json", options_.json, "answers as JSON");
        app_.footer(
            "Exit status: 0 done; 1 what was asked about is wrong or not there; 2 usage, or no daemon "
            "answers.");
        add_files();
        add_show();
        add_routes();
        add_lookup();
        add_filter();
        add_table();
        add_counters();
        add_trace();
        add_capture();
        add_doctor();
        add_model_commands(app_, options_.model, [this](Command command) { command_ = std::move(command); });
    }

    [[nodiscard]] const CLI::App& app() const { return app_; }

    int run(const std::vector<std::string>& arguments, const Terminal& terminal) {
        // Its options are the benchmark's own.
        if (!arguments.empty() && arguments.front() == "bench")
            return bench({arguments.begin() + 1, arguments.end()}, terminal);
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
        try {
            app_.parse(reversed);
        } catch (const CLI::RequiredError& error) {
            // CLI11 says "A subcommand is required" whether none was typed or an unknown one.
            const CLI::App* at = &app_;
            while (!at->get_subcommands().empty())
                at = at->get_subcommands().front();
            const bool missing_command = at->get_require_subcommand_min() > 0;
            const auto unknown = app_.remaining(true);
            if (arguments.empty()) {
                terminal.err << app_.help();
            } else if (!missing_command) {
                app_.exit(error, terminal.out, terminal.err);
            } else {
                const std::string found =
                    unknown.empty() ? "no command" : "unknown command \"" + unknown.front() + "\"";
                const std::vector<std::string> names = commands_of(*at);
                terminal.print_error(
                    {"", found, joined(names), unknown.empty() ? "" : did_you_mean(unknown.front(), names)});
            }
            return exit_unusable;
        } catch (const CLI::ParseError& error) {
            return app_.exit(error, terminal.out, terminal.err) == 0 ? exit_ok : exit_unusable;
        }
        const Client client(socket_path());
        const Session session{client, terminal, options_.json};
        return command_(session);
    }

  private:
    static std::vector<std::string> commands_of(const CLI::App& app) {
        std::vector<std::string> names;
        for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
            names.push_back(command->get_name());
        return names;
    }

    static std::string joined(const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names)
            text.append(text.empty() ? "" : ", ").append(name);
        return text;
    }

    [[nodiscard]] std::string socket_path() const {
        // What was typed beats the environment; CLI11 has put the latter into options_.socket.
        const bool instance_typed = !options_.instance.empty();
        const bool socket_typed = !options_.socket.empty() && !(instance_typed && from_environment());
        if (socket_typed) return options_.socket;
        return "/run/pktpit/" + (instance_typed ? options_.instance : std::string("default")) + ".sock";
    }

    [[nodiscard]] bool from_environment() const {
        const char* value = std::getenv("PKTPIT_SOCKET");
        return value && options_.socket == value;
    }

    [[nodiscard]] Family default_family() const { return options_.ipv6 ? Family::ipv6 : Family::ipv4; }

    CLI::App* add(CLI::App* parent, const std::string& name, const std::string& description,
                  Command command) {
        CLI::App* app = parent->add_subcommand(name, description);
        app->callback([this, command = std::move(command)] { command_ = command; });
        return app;
    }

    CLI::App* add_group(const std::string& name, const std::string& description) {
        CLI::App* app = app_.add_subcommand(name, description);
        app->require_subcommand(1);
        return app;
    }

    void add_family_flags(CLI::App* app) {
        CLI::Option* four = app->add_flag("-4", options_.ipv4, "IPv4");
        app->add_flag("-6", options_.ipv6, "IPv6")->excludes(four);
    }

    void add_confirm(CLI::App* app) {
        app->add_option_function<uint32_t>(
               "--confirm", [this](const uint32_t& seconds) { options_.confirm_s = seconds; },
               "go back by itself unless it is confirmed within so many seconds")
            ->check(CLI::Range(1u, 86400u))
            ->type_name("SECONDS");
    }

    void add_files() {
        CLI::App* check_app = add(&app_, "check", "checks a configuration file, its routes files included",
                                  [this](const Session& session) {
                                      return check(session, options_.file, !options_.any_interface);
                                  });
        check_app->add_option("FILE", options_.file, "the configuration file")->required();
        check_app->add_flag("--any-interface", options_.any_interface,
                            "do not ask whether its interfaces exist: it is for another machine");

        CLI::App* reload_app = add(
            &app_, "reload", "has the daemon apply its configuration file, or another one",
            [this](const Session& session) {
                return reload(session, options_.file.empty() ? std::nullopt : std::optional(options_.file),
                              options_.dry_run);
            });
        reload_app->add_option("FILE", options_.file, "another configuration file");
        reload_app->add_flag("--dry-run", options_.dry_run, "only say what would change");

        CLI::App* commit = add(
            &app_, "commit",
            "as reload; with --confirm it goes back by itself unless `pktpit confirm` follows",
            [this](const Session& session) {
                return reload(session, options_.file.empty() ? std::nullopt : std::optional(options_.file),
                              false, options_.confirm_s);
            });
        commit->add_option("FILE", options_.file, "another configuration file");
        add_confirm(commit);
        add(&app_, "confirm", "keeps what waits to be confirmed", &confirm);
        CLI::App* rollback_app =
            add(&app_, "rollback", "goes back to a configuration that was applied before",
                [this](const Session& session) {
                    return rollback(session, options_.back, options_.dry_run, options_.confirm_s);
                });
        rollback_app->add_option("N", options_.back,
                                 "so many before the running one [1]; pktpit show configs");
        rollback_app->add_flag("--dry-run", options_.dry_run, "only say what would change");
        add_confirm(rollback_app);

        CLI::App* detach_app =
            add(&app_, "detach", "takes down the data path of a daemon that is gone",
                [this](const Session& session) {
                    return detach(session, options_.instance.empty() ? "default" : options_.instance,
                                  options_.yes);
                });
        detach_app->add_flag("--yes", options_.yes, "do not ask, even where packets still flow");

        // Only words for its help: bench() has understood them before CLI11 is asked.
        CLI::App* measure =
            add(&app_, "bench",
                "measures the router against its peers: wire, cpu, fib, rfc2544, routes, allreduce, compare",
                [](const Session& session) { return bench({}, session.terminal); });
        for (const auto& [name, description] : bench_commands())
            measure->add_subcommand(name, description);
        add(&app_, "demo", "shows the router at work, in network namespaces of its own (root)", &demo);
    }

    void add_filter() {
        CLI::App* filter = add_group("filter", "makes filters of what others have");
        CLI::App* import =
            add(filter, "import", "rules of another program as /filters of a configuration",
                [this](const Session& session) { return import_filters(session, options_.file); });
        import->add_option_function<std::string>("PROGRAM", [](const std::string&){}, "whose rules: nftables")
            ->required()
            ->check(CLI::IsMember({"nftables"}));
        import->add_option("FILE", options_.file, "what `nft -j list ruleset` prints; -: the standard input")
            ->required();
    }

    void add_show() {
        CLI::App* show = add_group("show", "shows what the daemon knows");
        add(show, "version", "who is running", &show_version);
        add(show, "ports", "ports, how XDP is attached to them, what they carried", &show_ports);
        add(show, "neighbours", "ARP and ND entries", &show_neighbours);
        add(show, "counters", "packets, bytes and verdicts", &show_counters);
        add(show, "drift", "what somebody else has changed of the machine, against the configuration",
            &show_drift);
        add(show, "filters", "filters: their interfaces, rules and what these have counted", &show_filters);
        add(show, "vrfs", "VRFs: their tables, interfaces and numbers of routes", &show_vrfs);
        add(show, "fpm", "the connection of FRR's zebra, and what came by it", &show_fpm);
        add(show, "aggregation", "groups whose vectors the router adds, and their workers",
            &show_aggregation);
        add(show, "latency", "how long packets take from a port to the egress port's doorbell",
            &show_latency);
        add(show, "workers", "worker threads: their CPUs, queues, packets and slots", &show_workers);
        CLI::App* offload =
            add(show, "offload", "what auto ports decide about themselves, and how well that is chosen",
                [this](const Session& session) { return show_offload(session, options_.entries); });
        offload->add_flag("--entries", options_.entries, "the blocks that are installed, with their rates");
        CLI::App* config = add(show, "config", "the running configuration", [this](const Session& session) {
            if (options_.difference) return show_config_difference(session, *options_.difference);
            if (options_.saved) return show_saved_config(session, *options_.saved);
            return show_config(session);
        });
        const auto add_back = [config](const char* name, std::optional<size_t>& into,
                                       const char* description) {
            return config
                ->add_option_function<size_t>(
                    name, [&into](const size_t& back) { into = back; }, description)
                ->type_name("N");
        };
        CLI::Option* difference = add_back("--diff", options_.difference,
                                           "what has changed since the one that was applied N before it");
        add_back("--saved", options_.saved, "the file of the one that was applied N before it")
            ->excludes(difference);
        add(show, "configs", "configurations that were applied, and can be gone back to", &show_configs);
        CLI::App* interfaces =
            add(show, "interfaces", "interfaces: state, rates, when the link last changed, description",
                [this](const Session& session) {
                    return show_interfaces(session, std::chrono::duration<double>(options_.interval));
                });
        interfaces->add_option("--interval", options_.interval, "seconds that rates are measured over [1]")
            ->check(CLI::Range(0.1, 3600.0))
            ->type_name("SECONDS");

        CLI::App* routes =
            add(show, "routes", "all routes; * is the best of its prefix", [this](const Session& session) {
                if (options_.ipv4 || options_.ipv6) options_.filter.family = default_family();
                if (options_.ignored) return show_ignored_routes(session);
                if (options_.summary) return show_routes_summary(session, options_.filter.vrf);
                return show_routes(session, options_.filter);
            });
        add_family_flags(routes);
        routes->add_option("--source", options_.filter.source, "only of this source")
            ->check(CLI::IsMember({"connected", "config", "cli", "fpm", "kernel"}));
        routes->add_option("--within", options_.filter.within, "only inside this prefix")
            ->type_name("PREFIX");
        routes
            ->add_option_function<size_t>(
                "--limit", [this](const size_t& limit) { options_.filter.limit = limit; }, "at most so many")
            ->check(CLI::PositiveNumber)
            ->type_name("N");
        CLI::Option* vrf = add_vrf(routes);
        routes->add_flag("--ignored", options_.ignored, "the kernel's routes that are not followed, and why")
            ->excludes(vrf);
        routes
            ->add_subcommand(
                "summary", "how many routes and prefixes there are, by source, length and whether installed")
            ->parse_complete_callback([this] { options_.summary = true; });
        CLI::App* events =
            add(show, "events", "what happened lately: links, neighbours, ports, reloads, resyncs, sessions",
                [this](const Session& session) { return show_events(session, options_.follow); });
        events->add_flag("--follow", options_.follow, "and what happens from now on, until interrupted");
        add(show, "memory", "what the daemon needs memory for", &show_memory);
        add(show, "next-hop-groups",
            "next-hop sets: members, weights, state, who forwards now, and how many prefixes use them",
            &show_next_hop_groups);

        CLI::App* route =
            add(show, "route", "where packets to an address go, and why", [this](const Session& session) {
                return show_route(session, options_.words.at(0), options_.filter.vrf);
            });
        add_vrf(route);
        route->add_option("ADDRESS", options_.words, "an IPv4 or IPv6 address")->required()->expected(1);
    }

    void add_routes() {
        CLI::App* route = add_group("route", "changes routes of source cli");
        const std::tuple<const char*, const char*, const char*> verbs[] = {
            {"add", "POST", "adds a route"},
            {"replace", "PUT", "adds a route, or replaces it atomically"},
            {"del", "DELETE", "removes a route"}};
        for (const auto& [verb, method, description] : verbs) {
            CLI::App* app =
                add(route, verb, description, [this, method = std::string(method)](const Session& session) {
                    if (options_.file.empty())
                        return change_route(session, method, options_.words, default_family());
                    return change_routes_of(session, method, options_.file, default_family());
                });
            add_family_flags(app);
            const bool removal = std::string_view(verb) == "del";
            CLI::Option* file =
                app->add_option("--file", options_.file,
                                "routes one a line, in the same words (-: the standard input): all or none");
            CLI::Option* words = app->add_option(
                removal ? "PREFIX" : "ROUTE", options_.words,
                removal ? "192.0.2.0/24, an address or default"
                        : "PREFIX [via ADDRESS] [dev INTERFACE] [weight N] [nexthop …] [backup …] "
                          "[blackhole|unreachable|prohibit] [preference N] [metric N] [mtu N] [vrf NAME] "
                          "[counters]");
            words->excludes(file);
            if (removal) app->alias("delete");
        }
    }

    void add_lookup() {
        CLI::App* app = add(
            &app_, "lookup", "the longest matching prefix of each address", [this](const Session& session) {
                if (!options_.table.empty())
                    return lookup_in_table(session, options_.table, options_.reading, options_.words);
                if (options_.words.empty()) {
                    return print_failure(session,
                                         {"", "no address", "lookup ADDRESS…, or lookup --table FILE", ""},
                                         exit_unusable);
                }
                return lookup(session, options_.words, options_.filter.vrf);
            });
        app->add_option("ADDRESS", options_.words,
                        "addresses; with --table and without any: from the standard input, one a line");
        CLI::Option* table =
            app->add_option("--table", options_.table, "look in this table's file, without a daemon")
                ->type_name("FILE");
        add_peer(app)->needs(table);
        add_vrf(app)->excludes(table);
    }

    CLI::Option* add_vrf(CLI::App* app) {
        return app->add_option("--vrf", options_.filter.vrf, "in this VRF; else in the default one")
            ->type_name("NAME");
    }

    CLI::Option* add_peer(CLI::App* app) {
        return app
            ->add_option_function<std::string>(
                "--peer",
                [this](const std::string& text) {
                    const auto peer = fib::PeerSelector::parse(text);
                    if (!peer) throw CLI::ValidationError("--peer", peer.error().to_string());
                    options_.reading.peer = *peer;
                },
                "of an MRT file only what this peer said: its address, AS64500, or its number in the table")
            ->type_name("PEER");
    }

    void add_table() {
        CLI::App* table =
            add_group("table", "files of routes and updates: text, JSON lines, MRT; packed or not");
        add_table_generate(table);
        add_table_convert(table);
        CLI::App* stats = add(
            table, "stats", "what a table holds, and what it takes as a FIB image",
            [this](const Session& session) {
                return table_stats(session, options_.file, {options_.reading, options_.check, options_.cpu});
            });
        stats->add_option("FILE", options_.file, "the table")->required();
        stats->add_flag("--check", options_.check,
                        "compare lookups around every prefix with a naive table's");
        stats->add_option("--cpu", options_.cpu, "instructions of the batch lookups [auto]")
            ->check(CLI::IsMember({"auto", "scalar", "avx2", "avx512"}));
        add_peer(stats);

        CLI::App* replay =
            add(table, "replay", "applies updates to a table's FIB image and measures each change",
                [this](const Session& session) {
                    return replay_updates(session,
                                          {options_.file, options_.table, options_.reading, options_.check});
                });
        replay->add_option("UPDATES", options_.file, "the updates")->required();
        replay->add_option("--table", options_.table, "what they are applied to [an empty table]")
            ->type_name("FILE");
        replay->add_flag("--check", options_.check, "compare the end with a naive table's");
        add_peer(replay);
    }

    void add_table_generate(CLI::App* table) {
        CLI::App* app =
            add(table, "generate", "prints a table like the Internet's, from a seed",
                [this](const Session& session) {
                    return generate_table(session, default_family(), options_.count, options_.seed);
                });
        add_family_flags(app);
        app->add_option("--count", options_.count, "prefixes; default: as many as the Internet has");
        app->add_option("--seed", options_.seed, "the same seed gives the same table");
    }

    void add_table_convert(CLI::App* table) {
        CLI::App* app = add(table, "convert", "prints a table, or updates, in another form",
                            [this](const Session& session) {
                                return convert_table(session, {options_.file, options_.reading, options_.form,
                                                               options_.updates, options_.sorted});
                            });
        app->add_option("FILE", options_.file, "the table")->required();
        app->add_option("--to", options_.form, "the form [text; with --json: json]")
            ->check(CLI::IsMember({"text", "json", "mrt"}));
        app->add_flag("--sorted", options_.sorted, "ascending, each prefix once");
        app->add_flag("--updates", options_.updates, "FILE holds updates");
        add_peer(app);
    }

    void add_counters() {
        CLI::App* app =
            add(&app_, "counters", "packets, bytes and verdicts; with --watch their rates, live",
                [this](const Session& session) {
                    if (!options_.watch) return show_counters(session);
                    return watch_counters(session, std::chrono::duration<double>(options_.interval),
                                          options_.count ? std::optional(options_.count) : std::nullopt);
                });
        CLI::Option* watch = app->add_flag("--watch", options_.watch, "rates, again and again");
        app->add_option("--interval", options_.interval, "seconds between them [1]")
            ->check(CLI::Range(0.05, 86400.0))
            ->needs(watch)
            ->type_name("S");
        app->add_option("--count", options_.count, "end after so many")
            ->check(CLI::PositiveNumber)
            ->needs(watch)
            ->type_name("N");
    }

    void add_observe_options(CLI::App* app) {
        app->add_option("--filter", options_.observe.filter, "only packets that a pcap filter matches")
            ->type_name("EXPR");
        const auto add_number = [&](const char* name, std::optional<unsigned>& value, const char* text) {
            app->add_option_function<unsigned>(
                   name, [&value](const unsigned& number) { value = number; }, text)
                ->check(CLI::PositiveNumber)
                ->type_name("N");
        };
        add_number("--count", options_.observe.count, "end after so many packets");
        add_number("--seconds", options_.observe.seconds, "end after so many seconds");
        add_number("--sample", options_.observe.sample, "one packet in so many, at random");
        app->footer("Ends with Ctrl-C, too. Ports run another program meanwhile: docs/trace.md.");
    }

    void add_trace() {
        CLI::App* app = add(&app_, "trace", "every step that packets take, as they take them",
                            [this](const Session& session) { return trace(session, options_.observe); });
        add_observe_options(app);
        app->add_option("--port", options_.observe.port, "only what comes in by this port")
            ->type_name("PORT");
        app->add_option("--verdict", options_.observe.verdicts,
                        "only these: drop, host, punt or a name of `show counters`; repeatable")
            ->allow_extra_args(false)
            ->type_name("NAME");
    }

    void add_capture() {
        CLI::App* app = add(&app_, "capture", "packets into a pcapng file",
                            [this](const Session& session) { return capture(session, options_.observe); });
        app->add_option("-w,--write", options_.observe.file, "the file; - is the standard output")
            ->required()
            ->type_name("FILE");
        add_observe_options(app);
        app->add_option("--point", options_.observe.points,
                        "ingress, egress or drop; repeatable [ingress and egress]")
            ->allow_extra_args(false)
            ->check(CLI::IsMember({"ingress", "egress", "drop"}));
        app->add_option("--port", options_.observe.port, "only at this port")->type_name("PORT");
        app->add_option_function<unsigned>(
               "--snaplen", [this](const unsigned& bytes) { options_.observe.snaplen = bytes; },
               "at most so many bytes of a packet")
            ->check(CLI::Range(1U, 65000U))
            ->type_name("BYTES");
    }

    void add_doctor() {
        CLI::App* app = add(&app_, "doctor",
                            "what of this machine stands in the ports' way; of vfio: is P2P direct between "
                            "NICs and payload memory",
                            [this](const Session& session) { return doctor(session, options_.doctor); });
        app->add_option("CONFIG", options_.doctor.config,
                        "a configuration whose ports and payload memory to look at [the whole machine]");
        app->add_option("--nic", options_.doctor.nics, "look at this NIC; repeatable")
            ->type_name("ADDRESS")
            ->allow_extra_args(false);
        app->add_option("--memory", options_.doctor.memories, "look at this memory device; repeatable")
            ->allow_extra_args(false)
            ->type_name("ADDRESS");
        app->add_option("--tree", options_.doctor.tree, "explain a recorded machine instead of this one")
            ->type_name("FILE");
        app->add_option("--record", options_.doctor.record, "write what was read of this machine to a file")
            ->type_name("FILE");
        app->footer(
            "Exit status: 0 P2P is direct for all; 1 possible, but hindered or not within a switch; 2 not "
            "possible, or usage.");
    }

    CLI::App app_;
    Options options_;
    Command command_;
};

}  // namespace

void describe(const std::function<void(const CLI::App&)>& shown) {
    shown(Application().app());
}

int run(const std::vector<std::string>& arguments, const Terminal& terminal) {
    try {
        const int status = Application().run(arguments, terminal);
        terminal.out.flush();
        if (terminal.out.good()) return status;
        terminal.print_error({"standard output", "cannot write", "", ""});
    } catch (const std::exception& error) {
        // An answer that is not shaped as docs/api.md says, or no memory.
        terminal.out.flush();
        terminal.print_error(
            {"", error.what(), "", "is the daemon of the same version? See `pktpit show version`"});
    }
    return exit_unusable;
}

}  // namespace pktpit::router::cli
