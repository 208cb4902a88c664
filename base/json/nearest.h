// SPDX-License-Identifier: BSD-3-Clause
/// Which known word somebody who wrote an unknown one most likely meant. Called where an error
/// is put into words. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pktpit {

/// The known word that starts with this one (three letters or more), or the one within a third of the word's
/// length in edits (insert, delete, replace, swap), at least one.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// `did you mean "x"?`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace pktpit
