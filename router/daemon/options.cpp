// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/options.h"

#include <CLI/CLI.hpp>

namespace pktpit::router {

std::unique_ptr<CLI::App> daemon_options(DaemonOptions& options) {
    auto app = std::make_unique<CLI::App>(
        "The Pktpit router's daemon: stays in the foreground, logs to standard error or the journal.",
        "pktpitd");
    app->add_option("-c,--config", options.config_path, "Configuration file (JSON)")
        ->required()
        ->type_name("FILE");
    app->add_option("--socket", options.socket_path, "API socket (default: /run/pktpit/INSTANCE.sock)")
        ->type_name("PATH");
    app->add_flag("--detach", options.detach, "Leave the data path running when the daemon is stopped");
    app->add_option("--user", options.user, "Run as this user (default: /user of the configuration)")
        ->type_name("USER");
    app->add_flag("--prepare", options.prepare,
                  "Do what needs root so that --user can run the daemon, and end");
    app->set_version_flag("--version", PKTPIT_VERSION);
    app->footer(
        "Signals: SIGHUP reads the configuration again; SIGTERM and SIGINT end the daemon and, without "
        "--detach, the data path; SIGUSR2 ends the daemon and leaves the data path to the next one.");
    return app;
}

}  // namespace pktpit::router
