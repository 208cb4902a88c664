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

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail("/routes/3/prefix", "…");`
[[nodiscard]] inline tl::unexpected<Error> fail(std::string where, std::string message,
                                                std::string expected = {}, std::string hint = {}) {
    return tl::unexpected(Error{std::move(where), std::move(message), std::move(expected), std::move(hint)});
}

}  // namespace pktpit
