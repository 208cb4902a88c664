// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>

#include "router/cli/commands_model.h"

namespace pktpit::router::cli {
namespace {

class ModelCommands {
  public:
    ModelCommands(CLI::App& app, ModelOptions& options, const ChooseCommand& choose)
        : model_(app.add_subcommand("model", "experiments on a modelled PCIe fabric, in virtual time")),
          options_(options),
          choose_(choose) {
        model_->require_subcommand(1);
        CLI::App* run = add("run", "one experiment: rates, latencies, what is busy", model_run);
        add_experiment(run);
        add_csv(run);
        add_merge();
        add_answer();
        add_allreduce();
        add_experiment(add("explain", "the journey of one packet, TLP by TLP", model_explain));
        CLI::App* sweep = add("sweep", "an experiment for each of several values", model_sweep);
        add_experiment(sweep);
        sweep
            ->add_option("--parameter", options_.parameter,
                         "size, load, slice, write-load, read-load, transfer, program, or a constant")
            ->required()
            ->type_name("NAME");
        sweep->add_option("--values", options_.values, "what to set it to, separated by commas")
            ->required()
            ->delimiter(',')
            ->type_name("A,B,…");
        add_sweep(sweep);
        CLI::App* check = add("check", "the model against the measurements of the research", model_check);
        check
            ->add_option("--table", options_.table,
                         "routes for rows 5 and 6: a file, or generated [the real table where PKTPIT_DATA is "
                         "its folder]")
            ->type_name("FILE");
        check->add_option("--row", options_.rows, "only this row; repeatable")
            ->check(CLI::Range(1U, 9U))
            ->allow_extra_args(false);
        check
            ->add_option("--set", options_.set,
                         "NAME=VALUE: a constant that differs in all profiles; repeatable. Shows what moves")
            ->allow_extra_args(false)
            ->type_name("NAME=VALUE");
        add_csv(check);
        CLI::App* plot =
            add("plot", "draws what `sweep --json` and `check --json` found (with gnuplot)", model_plot);
        plot->add_option("FILE", options_.file, "their output")->required();
        plot->add_option("--out", options_.out, "folder for the plots [.]")->type_name("DIR");
        plot->add_option("--format", options_.format, "svg or png [svg]")
            ->check(CLI::IsMember({"svg", "png"}));
        CLI::App* import = add("import", "makes a topology of this machine's PCI tree", model_import);
        import->add_option("--tree", options_.tree, "of a recorded machine (doctor --record) instead")
            ->type_name("FILE");
        import->add_option("--lspci", options_.lspci, "of what `lspci -vvv` printed, as root, instead")
            ->type_name("FILE");
        import->add_option("--gbps", options_.gbps, "line rate to assume for each port [10]")
            ->check(CLI::Range(0.001, 1600.0));
        CLI::App* constants =
            add("constants", "a profile's constants and where they come from", model_constants);
        constants->add_option("--profile", options_.profile, "profile or file [generic]");
        model_->add_subcommand("list", "topologies and profiles that come with the program")
            ->callback([choose = choose_] { choose(model_list); });
    }

  private:
    using Run = int (*)(const Session&, const ModelOptions&);

    CLI::App* add(const std::string& name, const std::string& description, Run run) {
        CLI::App* app = model_->add_subcommand(name, description);
        app->callback([choose = choose_, run, &options = options_] {
            choose([run, &options](const Session& session) { return run(session, options); });
        });
        return app;
    }

    void add_table(CLI::App* app) {
        app->add_option("--table", options_.table,
                        "routes for real lookups: a file (text, JSON lines, MRT), or generated")
            ->type_name("FILE");
        app->add_option("--routes", options_.routes, "at most so many of its IPv4 routes; 0: all [0]");
    }

    void add_csv(CLI::App* app) { app->add_flag("--csv", options_.csv, "comma-separated values (RFC 4180)"); }

    void add_sweep(CLI::App* sweep) {
        CLI::Option* second = sweep->add_option("--parameter2", options_.parameter2, "another: all with all");
        second->type_name("NAME");
        sweep->add_option("--values2", options_.values2, "what to set that to")
            ->needs(second)
            ->delimiter(',')
            ->type_name("A,B,…");
        second->needs(sweep->get_option("--values2"));
        sweep
            ->add_option("--part", options_.part,
                         "only the K-th of N parts of the points, for other machines or a job array to run "
                         "the others; `model merge` puts them together")
            ->type_name("K/N");
        sweep->add_option("--jobs", options_.jobs, "threads [as many as there are CPUs]")
            ->check(CLI::Range(1U, 1024U));
        add_csv(sweep);
    }

    void add_answer() {
        CLI::App* answer =
            add("answer", "what would P2P bring on my server? Bands, from a PCI tree", model_answer);
        CLI::Option* topology = answer->add_option("--topology", options_.topology,
                                                   "topology or file, instead of this machine's");
        CLI::Option* tree =
            answer->add_option("--tree", options_.tree, "a recorded machine's (doctor --record)");
        tree->type_name("FILE")->excludes(topology);
        answer->add_option("--lspci", options_.lspci, "what `lspci -vvv` printed there, as root")
            ->type_name("FILE")
            ->excludes(topology)
            ->excludes(tree);
        answer->add_option("--gbps", options_.gbps, "line rate to assume for each port [10]")
            ->check(CLI::Range(0.001, 1600.0));
        answer->add_option("--profile", options_.profile, "hardware profile or file [generic]");
        answer->add_option("--cores", options_.cores, "that forward [1]")->check(CLI::Range(1U, 64U));
    }

    void add_allreduce() {
        CLI::App* app = add("allreduce", "a router that adds what workers send through it", model_allreduce);
        model::AllreduceSettings& settings = options_.allreduce;
        app->add_option("--workers", settings.workers, "how many [4]")->check(CLI::Range(1U, 1024U));
        app->add_option("--bytes", settings.message_bytes, "of a message [1048576]")->type_name("N");
        app->add_option("--messages", settings.messages, "one after the other, overlapping [1]")
            ->type_name("N");
        app->add_option("--gbps", settings.gbps, "of each worker's link [10]")
            ->check(CLI::Range(0.001, 1600.0));
        app->add_flag("--store-and-forward", options_.store_and_forward,
                      "the router adds when it has whole messages");
        app->add_option("--threshold", settings.threshold,
                        "it adds when it has so many frames of all; 0: the heads of one [1]");
        app->add_option("--frame", settings.frame_bytes, "payload of a frame, bytes [1480]");
        app->add_option("--slots", settings.router_slots, "frames of sums that may be begun [1048576]");
        app->add_option("--buffers", settings.buffers, "of a worker, in each direction [4]");
        app->add_option("--chunk", settings.chunk_bytes, "bytes of a buffer [65536]");
        app->add_option("--accelerator-gbytes", settings.accelerator_gbytes,
                        "GB/s between accelerator and host; 0: messages are in the host's memory [6]");
        app->add_option("--copy-ns", options_.copy_ns, "to start a copy [6000]")->check(CLI::Range(0.0, 1e9));
    }

    void add_merge() {
        CLI::App* merge = add("merge", "parts of a sweep, as one", model_merge);
        merge->add_option("FILE", options_.files, "what `sweep --part K/N --json` wrote, of all parts")
            ->required();
        add_csv(merge);
    }

    void add_traffic(CLI::App* app) {
        CLI::Option* pattern = app->add_option("--traffic", options_.traffic,
                                               "who sends to whom: one-way (NIC 0 to 1), both-ways, ring, "
                                               "all-to-all, incast (all to NIC 0) [one-way]");
        app->add_option("--matrix", options_.matrix,
                        "instead: a row for each NIC, shares of line rate that it sends to each")
            ->type_name("FILE")
            ->excludes(pattern);
        CLI::Option* burst =
            app->add_option("--burst", options_.burst, "frames back to back at line rate [1]")
                ->check(CLI::Range(1U, 1000000U))
                ->type_name("N");
        CLI::Option* pcap =
            app->add_option("--pcap", options_.pcap, "sizes, times and conversations of recorded frames")
                ->type_name("FILE")
                ->excludes(burst);
        app->add_option("--pcap-speed", options_.pcap_speed, "so many times as fast as recorded [1]")
            ->check(CLI::Range(1e-6, 1e6))
            ->needs(pcap);
    }

    void add_experiment(CLI::App* app) {
        app->add_option("--topology", options_.topology, "topology or file [two-nics]; see `model list`");
        app->add_option("--profile", options_.profile, "hardware profile or file [generic]");
        app->add_option("--program", options_.program, "l3fwd, p2pnic or pktpit [p2pnic]")
            ->check(CLI::IsMember({"l3fwd", "p2pnic", "pktpit"}));
        app->add_option("--transfer", options_.transfer, "write, read or bounce [write]; not of l3fwd")
            ->check(CLI::IsMember({"write", "read", "bounce"}));
        app->add_option("--size", options_.size, "frame with FCS, bytes, or imix [64]");
        app->add_option("--slice", options_.slice,
                        "pktpit: header bytes to the CPU; 0: the destination alone [0]")
            ->check(CLI::Range(0U, 128U));
        add_table(app);
        app->add_option("--destinations", options_.destinations,
                        "addresses that packets go to, drawn from the table [65536]")
            ->check(CLI::Range(size_t{1}, size_t{1} << 22));
        app->add_option("--zipf", options_.zipf,
                        "the k-th destination is asked for as 1 / k^Z; 0: all alike [0]")
            ->check(CLI::Range(0.0, 4.0))
            ->type_name("Z");
        app->add_option("--cpu-times", options_.cpu_times,
                        "the CPU's time for a packet from what `bench_cpu --json` measured")
            ->type_name("FILE");
        app->add_option("--peer-operations", options_.operations,
                        "p2pnic write by programs of the control loop: economy or performance")
            ->check(CLI::IsMember({"economy", "performance"}));
        app->add_option("--batch", options_.batch, "peer operations: packets of one doorbell, at most [20]")
            ->check(CLI::Range(1U, 64U));
        app->add_option("--fib-changes", options_.fib_changes_microseconds,
                        "peer operations: the FIB changes, and programs with it, each so many microseconds")
            ->check(CLI::Range(0.1, 1e9))
            ->type_name("US");
        app->add_option("--hot-add", options_.hot_add_microseconds,
                        "the second NIC is added after so many microseconds; until then no route leads to it")
            ->check(CLI::Range(0.0, 1e9))
            ->type_name("US");
        app->add_flag("--relaxed-ordering", options_.relaxed,
                      "of frames that are written to peers; peer operations: of all their writes");
        app->add_option("--payload-memory", options_.payload_memory,
                        "bounce: a memory of the topology instead of main memory")
            ->type_name("NAME");
        app->add_flag("--no-fence", options_.no_fence, "peer operations: what happens without it");
        add_traffic(app);
        app->add_option("--ports", options_.ports, "ports of each NIC that send [1]")
            ->check(CLI::Range(1U, 8U));
        app->add_option("--load", options_.load, "share of line rate that each port sends [1]")
            ->check(CLI::Range(0.0001, 1.0));
        app->add_option("--write-load", options_.write_load, "CPU's stores to main memory, 0 to 1 [0]")
            ->check(CLI::Range(0.0, 1.0));
        app->add_option("--read-load", options_.read_load, "CPU's loads, 0 to 1 [0]")
            ->check(CLI::Range(0.0, 1.0));
        app->add_option("--duration", options_.milliseconds, "virtual milliseconds that are measured [1]")
            ->check(CLI::Range(0.001, 10000.0))
            ->type_name("MS");
        app->add_flag("--poisson", options_.poisson, "packets come at random; else evenly spaced");
        app->add_option("--seed", options_.seed, "the same seed gives the same result [1]");
        app->add_option("--set", options_.set, "a constant of the profile, otherwise; repeatable")
            ->type_name("NAME=VALUE")
            ->allow_extra_args(false);
    }

    CLI::App* model_;
    ModelOptions& options_;
    ChooseCommand choose_;
};

}  // namespace

void add_model_commands(CLI::App& app, ModelOptions& options, const ChooseCommand& choose) {
    ModelCommands commands(app, options, choose);
}

}  // namespace pktpit::router::cli
