/// A route file in memory as a FIB image, for looking addresses up without a daemon. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fib/address.h"
#include "fib/result.h"

namespace pktpit::router::cli {

class RouteTable {
  public:
    /// Reads a route file (fib/table_file.h). Where a prefix occurs twice, the later line holds.
    static Result<RouteTable> load(const std::string& path);

    RouteTable(RouteTable&&) noexcept;
    RouteTable& operator=(RouteTable&&) noexcept;
    ~RouteTable();

    /// The longest prefix that matches, and the next-hop id it has in the file.
    [[nodiscard]] std::optional<std::pair<Prefix, std::string_view>> lookup(const IpAddress& address) const;
    [[nodiscard]] size_t size(Family family) const;

  private:
    struct State;
    explicit RouteTable(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::router::cli
