// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit model`: experiments on modelled hardware. Needs no daemon and no root; nothing of it touches a
/// device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "offload/model/allreduce.h"
#include "offload/pci/tree.h"
#include "router/cli/commands.h"

namespace CLI {
class App;
}

namespace pktpit::router::cli {

struct ModelOptions {
    std::string topology = "two-nics";
    std::string profile = "generic";
    std::string program = "p2pnic";
    std::string transfer = "write";
    std::string size = "64";  ///< bytes, or "imix"
    unsigned slice = 0;
    std::string operations;  ///< empty, "economy" or "performance"
    unsigned batch = 20;
    double fib_changes_microseconds = 0;
    double hot_add_microseconds = -1;  ///< negative: it is there from the beginning
    bool relaxed = false;
    bool no_fence = false;
    std::string payload_memory;  ///< bounce: a memory of the topology; empty: main memory
    std::string table;           ///< a route file, or "generated"; empty: destinations are ports
    size_t routes = 0;
    size_t destinations = 65536;
    double zipf = 0;
    std::string cpu_times;            ///< bench_cpu's JSON
    std::string traffic = "one-way";  ///< who sends to whom
    std::string matrix;               ///< a file that says so instead
    unsigned burst = 1;
    std::string pcap;  ///< frames to take sizes and times from
    double pcap_speed = 1;
    unsigned ports = 1;
    double load = 1;
    double write_load = 0;
    double read_load = 0;
    double milliseconds = 1;
    double warm_up_microseconds = 200;
    bool poisson = false;
    uint64_t seed = 1;
    std::vector<std::string> set;  ///< CONSTANT=VALUE
    std::string parameter;         ///< sweep: a constant, or size, load, slice, write-load, read-load
    std::vector<std::string> values;
    std::string parameter2;  ///< sweep: another one; empty: none
    std::vector<std::string> values2;
    std::string part;   ///< sweep: "K/N" of the points; empty: all
    unsigned jobs = 0;  ///< sweep: threads; 0: as many as the machine has CPUs
    bool csv = false;
    std::vector<std::string> files;  ///< merge: results
    model::AllreduceSettings allreduce;
    bool store_and_forward = false;
    double copy_ns = 6000;
    unsigned cores = 1;  ///< answer: that forward
    std::vector<unsigned> rows;
    std::string tree;   ///< import: a recording; empty: this machine
    std::string lspci;  ///< import: what lspci printed
    double gbps = 10;
    std::string file;  ///< plot: results
    std::string out = ".";
    std::string format = "svg";
};

int model_run(const Session& session, const ModelOptions& options);
int model_explain(const Session& session, const ModelOptions& options);
int model_sweep(const Session& session, const ModelOptions& options);
int model_merge(const Session& session, const ModelOptions& options);
int model_answer(const Session& session, const ModelOptions& options);
int model_allreduce(const Session& session, const ModelOptions& options);
int model_check(const Session& session, const ModelOptions& options);
int model_plot(const Session& session, const ModelOptions& options);
int model_import(const Session& session, const ModelOptions& options);
int model_constants(const Session& session, const ModelOptions& options);
int model_list(const Session& session);

/// All of them; exit_wrong.
int print_errors(const Session& session, const std::vector<Error>& errors);
/// That of a recording, or this machine's.
Result<offload::PciTree> read_tree(const ModelOptions& options);

using ChooseCommand = std::function<void(std::function<int(const Session&)>)>;
/// Tells CLI11 of all of them. `options` outlives the parsing.
void add_model_commands(CLI::App& app, ModelOptions& options, const ChooseCommand& choose);

}  // namespace pktpit::router::cli
