// SPDX-License-Identifier: BSD-3-Clause
/// How an operation that a user, a peer or the machine can make fail reports it: a value or an Error.
/// Exceptions are for start-up, assertions for what only a bug can cause.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace pktpit {

/// One problem, told so that a person can mend it.
struct Error {
    std::string where;     ///< JSON pointer, "file:line", interface, prefix; may be empty
    std::string message;   ///< what was wrong, with the value found
    std::string expected;  ///< what would have been right; may be empty
    std::string hint;      ///< what to do; may be empty

    /// "where: message (expected …; hint)" on one line.
    [[nodiscard]] std::string to_string() const;
    bool operator==(const Error&) const = default;
};

/// A value or an Error. An error cannot be dropped by oversight: who means to says `(void)`.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  public:
    using tl::expected<T, Error>::expected;
    // NOLINTNEXTLINE(google-explicit-constructor): what map(), and_then() and the like give is a Result, too
    Result(tl::expected<T, Error> other) : tl::expected<T, Error>(std::move(other)) {}
};

/// `return fail("/routes/3/prefix", "…");`
[[nodiscard]] inline tl::unexpected<Error> fail(std::string where, std::string message,
                                                std::string expected = {}, std::string hint = {}) {
    return tl::unexpected(Error{std::move(where), std::move(message), std::move(expected), std::move(hint)});
}

}  // namespace pktpit
