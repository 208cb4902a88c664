// SPDX-License-Identifier: BSD-3-Clause
/// Asks the daemon: one HTTP request over its UNIX socket (docs/api.md). One thread.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pktpit::router::cli {

struct Reply {
    int status = 0;
    nlohmann::json body;
    [[nodiscard]] bool good() const { return status >= 200 && status < 300; }
};

/// Query parameters in order, not yet encoded.
using Parameters = std::vector<std::pair<std::string, std::string>>;

class Client {
  public:
    explicit Client(std::string socket_path) : socket_path_(std::move(socket_path)) {}

    /// An Error: nobody answered, and how to mend that. A refusal by the daemon is a Reply.
    [[nodiscard]] Result<Reply> get(const std::string& path, const Parameters& parameters = {}) const;
    [[nodiscard]] Result<Reply> send(const std::string& method, const std::string& path,
                                     const nlohmann::json& body) const;

    /// GET of an answer that comes piece by piece, for as long as take() says true. Ctrl-C (SIGINT) and
    /// SIGTERM tell the daemon that this is enough: it then ends the answer. A good Reply has no body; a
    /// refusal has.
    [[nodiscard]] Result<Reply> stream(const std::string& path, const Parameters& parameters,
                                       const std::function<bool(std::string_view bytes)>& take) const;

    [[nodiscard]] const std::string& socket_path() const { return socket_path_; }

  private:
    [[nodiscard]] Result<Reply> exchange(const std::string& method, const std::string& target,
                                         const std::string& body) const;
    [[nodiscard]] Error unreachable() const;

    std::string socket_path_;
};

std::string percent_encoded(const std::string& text);  ///< RFC 3986 2.1, all but unreserved characters

}  // namespace pktpit::router::cli
