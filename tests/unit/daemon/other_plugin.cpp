// SPDX-License-Identifier: BSD-3-Clause
// A plugin that is not of this build: PKTPIT_VERSION or OTHER_BYTES differ, or it has no function at all.
#include "router/dataplane/plugin.h"

#ifndef NO_ENTRY
extern "C" const pktpit::router::DataplanePlugin* pktpit_dataplane() {
    static const pktpit::router::DataplanePlugin plugin{
        .config_bytes = sizeof(pktpit::config::Config) + OTHER_BYTES, .open = nullptr};
    return &plugin;
}
#endif
