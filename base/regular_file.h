// SPDX-License-Identifier: BSD-3-Clause
/// Files that somebody else has named: opened without ever waiting, and only where they are files. Any
/// thread.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit {

/// For reading. A FIFO that nobody writes to, a terminal or a device would keep a reader waiting without end,
/// so that they are errors, as a directory is. The error's `where` is the path, its message errno's text or
/// what the file is.
Result<Fd> open_regular_file(const std::string& path);

}  // namespace pktpit
