// SPDX-License-Identifier: BSD-3-Clause
/// From the words of `pktpit model run` to an experiment. Pure but for reading files.
#pragma once

#include "offload/model/experiment.h"
#include "router/cli/commands_model.h"

namespace pktpit::router::cli {

struct ModelExperiment {
    model::Topology topology;
    model::Profile profile;
    model::ExperimentSettings settings;
    double load = 1;  ///< that the flows' loads were made for
};

/// Errors: those of topology and profile; a word that cannot be.
tl::expected<ModelExperiment, model::Errors> read_experiment(const ModelOptions& options);
/// NAME=VALUE of a constant. Errors: no "=", no number.
Result<std::pair<std::string, double>> read_constant(const std::string& setting);
/// Sets what a sweep varies: a word of ModelOptions, or a constant.
Result<void> set_parameter(ModelExperiment& experiment, const std::string& name, const std::string& value);

}  // namespace pktpit::router::cli
