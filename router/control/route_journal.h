// SPDX-License-Identifier: BSD-3-Clause
/// The file that keeps routes given by hand over a restart of the daemon: one JSON object a line, each a
/// change, `{"set": [routes]}` or `{"remove": [prefixes]}` (of another VRF than the default one
/// `{"prefix", "vrf"}`), the later ones over the earlier. A change is one
/// write at the end, whatever the file holds; when it says much that later lines void, it is written anew
/// beside and renamed over. A last line without its end (whoever wrote it was killed) counts for nothing.
///
/// Used by CliRoutes; one thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "router/control/vrf_prefix.h"

namespace pktpit::router {

class RouteJournal {
  public:
    using Routes = std::map<VrfPrefix, config::StaticRoute>;

    explicit RouteJournal(std::string path) : path_(std::move(path)) {}

    /// What the file says; what cannot be read is told and left out. Also reads one array of routes, which
    /// daemons before this form have written.
    [[nodiscard]] Routes load();
    // Appends a change. On an error the file is what it was.
    Result<void> set(std::span<const config::StaticRoute> routes);
    Result<void> remove(std::span<const config::StaticRoute> routes);
    /// The last append has not come about.
    void take_back();
    /// Writes the file anew if that is worth it: never more often than there are changes enough to pay for
    /// it.
    void tidy(const Routes& routes);
    void forget() const;

  private:
    Result<void> append(const std::string& line);
    Result<void> rewrite(const Routes& routes);
    void read_line(const std::string& line, Routes& routes);
    /// The file ends behind `size` bytes from here on.
    void cut(long size);

    std::string path_;
    size_t changes_ = 0;  ///< in the file
    long before_ = 0;     ///< bytes that the file had before the last append
};

}  // namespace pktpit::router
