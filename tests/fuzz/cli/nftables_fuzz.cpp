// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as nftables' rules: what is made of them is valid as /filters of a configuration.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "config/config.h"
#include "router/cli/nftables_import.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto imported = pktpit::router::cli::import_nftables(text);
    if (!imported) return 0;
    const nlohmann::json document{{"interfaces", nlohmann::json::object()}, {"filters", *imported->filters}};
    const std::string made = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    pktpit::fuzz::demand(pktpit::config::parse(made, "/").has_value(), "what was made of it is valid", made);
    return 0;
}
