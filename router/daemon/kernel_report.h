// SPDX-License-Identifier: BSD-3-Clause
/// What the daemon says of the kernel that it runs on: what the xdp dataplane does without there
/// (xdp/kernel_support.h). The daemon's thread, which owns it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>

#include "base/result.h"
#include "config/config.h"

namespace pktpit::router {

struct KernelSupport;

class KernelReport {
  public:
    KernelReport();
    ~KernelReport();

    /// Asks the kernel, once, and logs a line for each fallback that is in force, but for those that a port
    /// tells of when it misses them. Nothing happens on another dataplane than `xdp`.
    void begin(const config::Config& config);
    /// `kernel` of /v1/version for the running configuration; null where it was not asked.
    [[nodiscard]] nlohmann::json answer(const config::Config& config) const;

  private:
    std::unique_ptr<KernelSupport> support_;
};

/// A start on the xdp dataplane has failed: its hint says first which of the dataplane's needs this kernel
/// lacks, if it lacks one.
Error with_missing_needs(Error error);

}  // namespace pktpit::router
