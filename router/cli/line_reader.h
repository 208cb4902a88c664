// SPDX-License-Identifier: BSD-3-Clause
/// Lines from a file descriptor, in blocks, none copied but the ones that a block cuts. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::router::cli {

/// Calls `visit` with each line (without its end) and its number from 1. `drained` is called whenever all
/// that has been read is visited and the next read may wait: time to flush answers to a peer that waits for
/// them. Lines longer than 64 KiB are an error. False from `visit` ends the reading.
Result<void> read_lines(int descriptor,
                        const std::function<bool(std::string_view line, size_t number)>& visit,
                        const std::function<void()>& drained);

}  // namespace pktpit::router::cli
