// SPDX-License-Identifier: BSD-3-Clause
/// The page to look at (router/api/web), as it was when the daemon was built. Constant; any thread.
#pragma once

#include <span>
#include <string_view>

namespace pktpit::router {

struct WebFile {
    const char* path;  ///< of its request: "/", "/app.js"
    const char* type;
    std::string_view text;
};

/// Implemented by what embed_web.cmake makes.
std::span<const WebFile> web_files();

}  // namespace pktpit::router
