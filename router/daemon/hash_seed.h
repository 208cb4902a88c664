// SPDX-License-Identifier: BSD-3-Clause
/// The seed of an instance's flow hash, which it draws once and keeps in a private file: known to nobody, so
/// that nobody can make flows that all take one path, and the same after a restart, so that flows stay on
/// theirs.
///
/// Called by the daemon at its start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace pktpit::router {

struct HashSeed {
    uint64_t value = 0;
    std::optional<Error> not_kept;  ///< drawn anew, and the next start will draw another
};

/// Reads the file at `path`; where there is none, or one that is not as it was written, draws and writes one.
HashSeed instance_hash_seed(const std::string& path);

}  // namespace pktpit::router
