// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/kernel_report.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "router/xdp/kernel_support.h"

namespace pktpit::router {

#ifdef PKTPIT_XDP

void KernelReport::begin(const config::Config& config) {
    if (config.dataplane != "xdp") return;
    support_ = std::make_unique<KernelSupport>(kernel_support(PartKind::fallback));
    for (const auto& [part, result] : fallbacks_of(*support_, config))
        if (!part->told_by_ports)
            spdlog::log(part->warns ? spdlog::level::warn : spdlog::level::info, "{}",
                        missing_line(*support_, *part));
}

nlohmann::json KernelReport::answer(const config::Config& config) const {
    if (!support_) return nullptr;
    nlohmann::json fallbacks = nlohmann::json::array();
    for (const auto& [part, result] : fallbacks_of(*support_, config))
        fallbacks.push_back({{"name", part->name},
                             {"what", part->what},
                             {"since", part->since.empty() ? nlohmann::json() : nlohmann::json(part->since)},
                             {"instead", part->instead}});
    return {{"release", support_->release}, {"fallbacks", std::move(fallbacks)}};
}

Error with_missing_needs(Error error) {
    const std::string missing = missing_needs();
    if (!missing.empty()) error.hint = error.hint.empty() ? missing : missing + "; " + error.hint;
    return error;
}

#else

void KernelReport::begin(const config::Config&) {}

nlohmann::json KernelReport::answer(const config::Config&) const {
    return nullptr;
}

Error with_missing_needs(Error error) {
    return error;
}

#endif

KernelReport::KernelReport() = default;
KernelReport::~KernelReport() = default;

}  // namespace pktpit::router
