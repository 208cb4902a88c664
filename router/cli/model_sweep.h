// SPDX-License-Identifier: BSD-3-Clause
/// A sweep of `pktpit model` over one parameter or two: its points, all or a part of them, run on several
/// threads; its results as one document, whole or merged of parts; CSV. Which thread ran a point, and which
/// machine, changes nothing of its result.
#pragma once

#include <nlohmann/json.hpp>

#include "router/cli/model_experiment.h"

namespace pktpit::router::cli {

struct SweepParameter {
    std::string name;
    std::vector<std::string> values;
};

/// Which of the points: those whose number, from 0, is `part` - 1 modulo `parts`.
struct SweepPart {
    size_t part = 1, parts = 1;
};
/// "3/16". Errors: none such.
Result<SweepPart> read_part(const std::string& text);

/// The document, in the order of the points: {"sweep": what was asked for, "results": [...], "plots",
/// "series"}. `progress`: called with how many of how many have been run. Errors: a value that cannot be, of
/// the first point that has one; an experiment's.
Result<nlohmann::json> run_sweep(const ModelExperiment& experiment,
                                 const std::vector<SweepParameter>& parameters, const SweepPart& part,
                                 unsigned threads, const std::function<void(size_t, size_t)>& progress);

/// Of parts that together have each point once. `names`: of the documents, for errors. Errors: one that is no
/// sweep's, or another sweep's; a point twice; points that are missing.
Result<nlohmann::json> merge_sweeps(const std::vector<nlohmann::json>& documents,
                                    const std::vector<std::string>& names);

/// A line for each point, with the parameters' names as the first columns (RFC 4180).
std::string sweep_csv(const nlohmann::json& document);
/// The columns that describe a result, and their values.
std::string result_csv_header();
std::string result_csv(const nlohmann::json& result);
/// In quotes where it has to be.
std::string csv_field(const std::string& text);

}  // namespace pktpit::router::cli
