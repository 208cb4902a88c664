/// Asks the daemon: one HTTP request over its UNIX socket (docs/api.md). One thread.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

#include "fib/result.h"

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

    [[nodiscard]] const std::string& socket_path() const { return socket_path_; }

  private:
    [[nodiscard]] Result<Reply> exchange(const std::string& method, const std::string& target,
                                         const std::string& body) const;
    [[nodiscard]] Error unreachable() const;

    std::string socket_path_;
};

std::string percent_encoded(const std::string& text);  ///< RFC 3986 2.1, all but unreserved characters

}  // namespace pktpit::router::cli
