// SPDX-License-Identifier: BSD-3-Clause
/// What of a document that breaks the schema is still worth reading, so that its errors of meaning can be
/// told beside those of form. Internal to config/. Any thread.
///
/// What is broken is taken out: a member of an interface, an entry of a list, a member of the document. An
/// error of meaning that could only be there since something was taken out is none.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"

namespace pktpit::config {

class Pruned {
  public:
    /// Takes out of `document` what `errors` (of the schema) point to. What is left may break the schema
    /// again: then nothing more is known of it.
    Pruned(nlohmann::json& document, const Errors& errors);

    /// Interfaces of which an address was taken out, or all are in doubt.
    [[nodiscard]] bool has_doubtful_addresses(const std::string& interface) const;
    /// The errors that hold of the whole document, too, with their places in it.
    [[nodiscard]] Errors those_of_the_whole(Errors errors) const;

  private:
    [[nodiscard]] bool is_doubtful(const std::vector<std::string>& place) const;
    [[nodiscard]] std::string place_in_whole(std::vector<std::string> place) const;

    std::map<std::string, std::vector<size_t>>
        kept_;  ///< of a list, by its key: where each entry that is left was
    std::map<std::string, std::set<std::string>> members_;  ///< of an interface, those that are out
    std::set<std::string> settings_;                        ///< members of the document that are out
};

}  // namespace pktpit::config
