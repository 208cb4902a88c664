// SPDX-License-Identifier: BSD-3-Clause
/// Chooses the reader that a file's content asks for, and feeds it. Internal to fib/io.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "fib/tables/reading.h"

namespace pktpit::fib {

/// Makes the reader of a format, which counts into `summary`.
using ReaderFactory = std::function<std::unique_ptr<PieceReader>(Format format, ReadSummary& summary)>;

Result<ReadSummary> read_any_file(const std::string& path, const ReadOptions& options,
                                  const ReaderFactory& make);
Result<ReadSummary> read_any_bytes(std::string_view bytes, const std::string& name,
                                   const ReadOptions& options, const ReaderFactory& make);

}  // namespace pktpit::fib
