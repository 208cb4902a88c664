// SPDX-License-Identifier: BSD-3-Clause
/// The options of pktpitd, for the daemon itself and for what is made of its own words: its man page and its
/// completion (router/manual). Any thread.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace pktpit::router {

struct DaemonOptions {
    std::string config_path;
    std::string socket_path;
    std::string user;
    bool detach = false;
    bool prepare = false;
};

/// What it understands goes into `options`, which outlive it.
std::unique_ptr<CLI::App> daemon_options(DaemonOptions& options);

}  // namespace pktpit::router
