// SPDX-License-Identifier: BSD-3-Clause
/// Results of the model as JSON, for `pktpit model --json` and for plots. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "offload/model/check.h"

namespace pktpit::model {

nlohmann::json to_json(const ExperimentResult& result);
nlohmann::json to_json(const CheckReport& report);
/// Each constant with its source.
nlohmann::json to_json(const Profile& profile);

}  // namespace pktpit::model
